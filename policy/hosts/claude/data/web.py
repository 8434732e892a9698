"""Hosts, and sections of hosts, that Claude Code 2.1.329 fetches from without asking."""

from __future__ import annotations

from typing import Final

__all__ = ["PREAPPROVED"]

PREAPPROVED: Final = tuple(
    "docs.python.org developer.mozilla.org react.dev modelcontextprotocol.io code.claude.com"
    " platform.claude.com nodejs.org doc.rust-lang.org kubernetes.io learn.microsoft.com"
    " docs.aws.amazon.com cloud.google.com numpy.org pandas.pydata.org pytorch.org nextjs.org"
    " vuejs.org angular.io tailwindcss.com jestjs.io www.typescriptlang.org docs.djangoproject.com"
    " flask.palletsprojects.com fastapi.tiangolo.com docs.spring.io www.postgresql.org redis.io"
    " www.mongodb.com graphql.org git-scm.com nginx.org www.php.net laravel.com ruby-doc.org"
    " docs.oracle.com kotlinlang.org docs.swift.org developer.apple.com developer.android.com"
    " reactnative.dev agentskills.io en.cppreference.com bun.sh expressjs.com jquery.com"
    " getbootstrap.com d3js.org threejs.org redux.js.org webpack.js.org reactrouter.com"
    " www.tensorflow.org scikit-learn.org matplotlib.org requests.readthedocs.io jupyter.org"
    " symfony.com hibernate.org tomcat.apache.org gradle.org maven.apache.org asp.net"
    " dotnet.microsoft.com blazor.net docs.flutter.dev keras.io spark.apache.org dev.mysql.com"
    " www.sqlite.org prisma.io www.docker.com www.terraform.io www.ansible.com docs.netlify.com"
    " devcenter.heroku.com cypress.io selenium.dev docs.unity.com docs.unrealengine.com"
    " httpd.apache.org docs.stripe.com github.com/anthropics vercel.com/docs www.kaggle.com/docs"
    " huggingface.co/docs".split()
)

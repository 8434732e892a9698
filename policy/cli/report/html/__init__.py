"""The audit as one page that asks nothing of any network: matrix, spawn graph, findings."""

from __future__ import annotations

from policy.cli.report.html.page import audit_html

__all__ = ["audit_html"]

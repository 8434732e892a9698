"""What looks like a key or a password, and what only resembles one."""

from __future__ import annotations

import json

import pytest

from policy.core.credentials import credentials, masked
from policy.core.errors import PolicyError
from policy.core.source import Source

V = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

# Text, with what is to be hidden between ⟦ and ⟧.
FORMS = r"""
PGPASSWORD=⟦hunter2⟧ psql -h db -c 'select 1'
PGPASSWORD='⟦hunter2 two⟧' psql
found `PGPASSWORD=⟦hunter2xy⟧`, and `make`
MYSQL_PWD=⟦s3cretpw⟧ mysql
export DB_PASSWORD="⟦tr0ub4dor & three⟧"
REDIS_PASSWORD=⟦correcthorse⟧ redis-server
env SMTP_PASS=⟦pl4typus⟧ node mail.js
docker run -e POSTGRES_PASSWORD=⟦hunter22⟧ -d postgres
AWS_SECRET_ACCESS_KEY=⟦wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY⟧ aws s3 ls
AWS_ACCESS_KEY_ID=⟦AKIAIOSFODNN7EXAMPLE⟧ aws s3 ls
AWS_SESSION_TOKEN=⟦IQoJb3JpZ2luX2VjEJr1⟧ aws s3 ls
DISCORD_TOKEN=⟦a8f3c2b1d0e9⟧ node bot.js
GITHUB_TOKEN="⟦a8f3c2b1d0e9f7⟧" gh pr list
export OPENAI_API_KEY='⟦a8f3c2b1d0e9f7⟧'
STRIPE_SECRET=⟦a8f3c2b1d0e9f7⟧ make
CLIENT_SECRET=⟦8Q~x9aB3cD4eF5⟧ make
AZURE_STORAGE_KEY=⟦Zm9vYmFyYmF6cXV4MTIz⟧ az storage blob list
npm config set //registry.npmjs.org/:_authToken=⟦a8f3c2b1d0e9f7⟧
mysql -u root -p⟦S3cretP4ss⟧ shop
mysqldump -uroot -p'⟦S3cretP4ss⟧' shop
mariadb --user=root --password=⟦S3cretP4ss⟧
mongosh -u admin -p ⟦S3cretP4ss⟧ db
mongodump --uri mongodb://app:⟦S3cretP4ss⟧@db/shop
redis-cli -a ⟦s3cretpw⟧ ping
redis-cli -h cache -p 6379 -a '⟦s3cretpw⟧' ping
psql postgres://deploy:⟦hunter2hunter2⟧@db.example.com/shop
psql "host=db user=me password=⟦hunter22⟧"
sqlcmd -S db -U sa -P ⟦Str0ngPass⟧
sshpass -p ⟦hunter2⟧ ssh me@host
sshpass -p'⟦hunter2⟧' scp a me@host:
curl -u admin:⟦hunter22⟧ https://example.com/a
curl -s --user 'admin:⟦hunter22⟧' https://example.com/a
curl -sSu "admin:⟦hunter22⟧" https://example.com/a
curl -H 'X-API-Key: ⟦abcdef1234567890⟧' https://example.com
curl -H "X-Auth-Token:⟦abcdef1234567890⟧" https://example.com
curl -H "PRIVATE-TOKEN: ⟦abcdef1234567890⟧" https://example.com
curl -H 'Authorization: Basic ⟦dXNlcjpwYXNzd29yZA==⟧' https://example.com
curl -H 'Authorization: token ⟦abcdef1234567890⟧' https://example.com
curl -d '{"user":"me","password":"⟦hunter22⟧"}' https://example.com
curl -d "{\"api_key\": \"⟦q8f3c2b1d0⟧\"}" https://example.com
curl -d 'user=me&password=⟦hunter22⟧' https://example.com
curl 'https://example.com/a?token=⟦abcdef1234567890⟧'
curl 'https://example.com/a?b=c&key=⟦abcdef1234567890⟧'
curl https://⟦hooks.slack.com/services/T0A1B2C3D/B0A1B2C3D/abcDEF123⟧
git clone https://⟦abcdef1234567890abcdef⟧@example.com/a/b
git push https://me:⟦hunter2hunter2⟧@example.com/x
wget --http-user=me --http-password=⟦hunter22⟧ https://example.com
docker login -u me -p ⟦hunter22⟧ registry.example.com
helm registry login -u me -p ⟦hunter22⟧ example.com
az login --service-principal -u me -p ⟦hunter22⟧ --tenant t
gh auth login --token ⟦abcdef1234567890⟧
vercel deploy --token ⟦abcdef1234567890⟧
sentry-cli --auth-token ⟦abcdef1234567890⟧ releases
vault login ⟦abcdef1234567890⟧
ldapsearch -x -D cn=admin -w ⟦hunter22⟧
smbclient //host/share -U 'me%⟦hunter22⟧'
openssl enc -aes-256-cbc -pass pass:⟦hunter22⟧ -in a
openssl enc -aes-256-cbc -k ⟦hunter22⟧ -in a
ssh-keygen -t ed25519 -f key -N '⟦hunter22⟧'
ssh-keygen -p -P ⟦hunter22⟧ -N '' -f key
aws configure set aws_secret_access_key ⟦wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY⟧
gpg --batch --passphrase ⟦hunter22⟧ -d a
unzip -P ⟦hunter22⟧ a.zip
htpasswd -bc users me ⟦hunter22⟧
echo ⟦hunter22⟧ | sudo -S apt update
echo 'me:hunter' | cat; echo '⟦me:hunter22⟧' | chpasswd
kubectl create secret generic db --from-literal=password=⟦hunter22⟧
keytool -storepass ⟦ch4ngeit9⟧ -list
influx -username admin -password ⟦S3cretP4ss⟧
nuget push a.nupkg -ApiKey ⟦oy2aB3dE5gH7jK9mN1pQ3sT⟧
dotnet nuget push a.nupkg -k ⟦oy2ab3de5gh7jk9mn1pq3st⟧ -s x
sonar-scanner -Dsonar.login=⟦9f8e7d6c5b4a32100f1e2d3c⟧
xfreerdp /u:me /p:⟦S3cretP4ss⟧ /v:host
net use z: //srv/x /user:me ⟦S3cretP4ss⟧
lftp -u me,⟦S3cretP4ss⟧ ftp.example.com
mosquitto_pub -u me -P ⟦S3cretP4ss⟧ -t a -m b
nmcli dev wifi connect Home password ⟦S3cretP4ss⟧
psexec.py corp/me:⟦S3cretP4ss@host⟧
rclone config create r s3 secret_access_key ⟦wJalrXUtnFEMIK7MDENGbPxRfiCY⟧
gcloud auth activate-refresh-token me ⟦1//0gaB3dE5gH7jK9mN1pQ3sT5v⟧
cargo login ⟦cioaB3dE5gH7jK9mN1pQ3sT5v⟧
snyk auth ⟦01234567-89ab-cdef-0123-456789abcdef⟧
curl -b 'theme=dark; sessionid=⟦9f8e7d6c5b4a3210⟧' https://example.com
curl https://example.com --cookie "session=⟦9f8e7d6c5b4a3210⟧"
curl https://api.telegram.org/bot⟦123456789:AAaB3dE5gH7jK9mN1pQ3sT5vW7yZ9aB3dE5⟧/getMe
http POST example.com Authorization:"Token ⟦9f8e7d6c5b4a3210⟧"
DATABASE_PASSWORD: ⟦hunter22x⟧
""".strip().splitlines()

LOOK_ALIKES = r"""
PGPASSWORD=$PGPASSWORD psql
PGPASSWORD="$(pass show db)" psql
PGPASSWORD=* psql *
PASSWORD=${DB_PASSWORD} make
DB_PASSWORD= make
DB_PASSWORD=your_password make
DB_PASSWORD=changeme make
DB_PASSWORD_FILE=/run/secrets/db make
"Bash(grep -rn \"password=\" src)", "Bash(ls)"
POSTGRES_PASSWORD=postgres docker compose up
export GITHUB_TOKEN
GITHUB_TOKEN=$(gh auth token) make
TOKEN=<your-token> make
TOKEN=xxxxxxxxxxxxxxxx make
API_KEY=your-api-key-here make
API_KEY=test-key make
MAX_TOKENS=4096 make
CLAUDE_CODE_MAX_OUTPUT_TOKENS=32000
MAX_THINKING_TOKENS=31999
TOKENIZERS_PARALLELISM=false pytest
SECRET_NAME=my-app-secret make
PWD=/home/me/project make
OLDPWD=/home/me/project make
mysql -u root -p shop
mysql -h db -P 3306
mysql *
mysqldump -u root -p$PASS shop
mongosh -p
redis-cli -h cache -p 6379 ping
redis-cli --askpass
sshpass -p $PASS ssh host
sshpass -e ssh host
ssh -p 2222 me@host
mkdir -p src/components/login
docker run -p 8080:80 nginx
docker login -u me --password-stdin
docker login -p $TOKEN
curl -u "$USER:$PASS" https://example.com
curl -u admin https://example.com
curl -H "X-API-Key: $KEY" https://example.com
curl -H 'X-API-Key: *' https://example.com
curl -H "Authorization: Bearer $TOKEN" https://example.com
curl -H "Authorization: Bearer <token>" https://example.com
curl -H 'Authorization: Basic *' https://example.com
curl -d '{"password": "string"}' https://example.com
curl -d '{"password": "$PW"}' https://example.com
curl 'https://example.com/a?key=*'
curl 'https://example.com/a?page_token=abcdef1234567890'
git clone https://github.com/a/b
git clone git@github.com:a/b.git
git show a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d0
git push https://$USER:$TOKEN@example.com/x
psql postgres://user:password@localhost/db
psql postgres://postgres:postgres@localhost:5432/app
psql postgres://localhost:5432/app
npm run test -- --token-file secrets.txt
docker build --secret id=npm,src=.npmrc .
docker service create --secret my_db_secret app
password: ${{ secrets.DB_PASSWORD }}
token = os.environ["TOKEN"]
const token = process.env.TOKEN
api_key=settings.API_KEY
"tokenizer": "cl100k_base"
"passwordPolicy": "strong12"
grep -rn 'password=' src
grep -rn "api_key" src
The password: ask a person for it.
gh secret set DB_PASSWORD
openssl passwd -6
openssl rand -hex 32
openssl enc -d -aes-256-cbc -k $KEY
ssh-keygen -t ed25519 -N ""
ssh-keygen -t rsa -b 4096 -C me@example.com
aws configure set region us-east-1
aws configure set aws_access_key_id $ID
--password from the environment
echo done | sudo tee /etc/x
bypass=true-value1
DB_PASSWORD=abcd1`date` make
git commit -m "fix password reset for -pass flag"
openssl pkcs12 -in a.p12 -passin env:PW1
openssl rsa -in key1.pem -passin file:pw1.txt
ffmpeg -pass 1 -passlogfile log2 -i a.mp4
tool -secret=$SECRET1 -key key1.pem
curl -b cookies.txt -b "theme=dark1" https://example.com
npm config set registry https://registry.npmjs.org/
gcloud config set project my-project-1
kubectl config set-context prod1
docker login ghcr.io
nmcli dev wifi connect Home --ask
mosquitto_sub -h localhost -p 1883 -t 'a/b1'
nuget push a1.nupkg -Source nuget.org
sed -i 's/password=.*/password=REPLACED/' a.ini
https://www.npmjs.com/package/@scope/name
""".strip().splitlines()


@pytest.mark.parametrize("form", FORMS)
def test_the_value_of_a_credential_is_found_and_nothing_else(form: str) -> None:
    text = form.replace("⟦", "").replace("⟧", "")
    hidden = form.partition("⟦")[2].partition("⟧")[0]
    assert [text[start:end] for _, start, end in credentials(text)] == [hidden]
    assert masked(text) == text.replace(hidden, "*" * len(hidden))


@pytest.mark.parametrize("form", FORMS)
def test_a_credential_is_found_in_a_string_of_json(form: str) -> None:
    text = json.dumps({"allow": [f"Bash({form})".replace("⟦", "").replace("⟧", "")]})
    assert len(list(credentials(text))) == 1, text


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_resembles_a_credential_is_none(text: str) -> None:
    found = [text[start:end] for _, start, end in credentials(text)]
    assert found == []
    assert list(credentials(json.dumps([f"Bash({text})"]))) == []


@pytest.mark.parametrize(
    "token",
    [
        "ghp_" + V,
        "glpat-" + V[:20],
        "sk-ant-api03-" + V,
        "sk-proj-" + V,
        "AIza" + V[:35],
        "sk_live_" + V,
        "xoxb-" + V,
        "npm_" + V,
        "hf_" + V,
        "SG." + V[:22] + "." + V,
        "dckr_pat_" + V,
        "hvs." + V,
        "lin_api_" + V,
        "figd_" + V,
        "glsa_" + V,
        "dapi" + "0123456789abcdef" * 2,
    ],
)
def test_a_token_is_known_by_its_beginning(token: str) -> None:
    assert [(start, end) for _, start, end in credentials(f"x {token} y")] == [(2, 2 + len(token))]


def test_a_password_in_prose_is_an_example_and_a_token_is_none() -> None:
    text = f"password='hunter22' ghp_{V}"
    assert [name for name, _, _ in credentials(text, 0)] == ["a token of GitHub"]


def test_a_token_of_one_letter_is_a_placeholder() -> None:
    assert list(credentials("ghp_" + "x" * 36)) == []


def test_an_error_shows_no_credential_also_not_a_line_of_a_key() -> None:
    text = "key: |\n  -----BEGIN PRIVATE KEY-----\n  MIIEvQIBADANBg\n  -----END PRIVATE KEY-----\n"
    span = Source("a.yaml", text).span(text.index("MIIE"), text.index("MIIE") + 4)
    shown = str(PolicyError("found `PGPASSWORD=hunter2xy`", span))
    assert "hunter2xy" not in shown
    assert "MIIE" not in shown
    assert "^^^^" in shown


def test_masked_text_has_the_lines_it_had() -> None:
    text = "a\n-----BEGIN PRIVATE KEY-----\nMIIE\r\nvQIB\n-----END PRIVATE KEY-----\nb"
    lines = masked(text).splitlines()
    assert [len(line) for line in lines] == [len(line) for line in text.splitlines()]
    assert (lines[0], lines[2], lines[-1]) == ("a", "****", "b")

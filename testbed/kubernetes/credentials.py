"""Who may talk to the API server: a token per part, and kubeconfig files that carry it."""

import secrets
from dataclasses import dataclass
from pathlib import Path

import yaml

from testbed.cluster.commands import run

ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Where a cluster keeps its files.

    Attributes
    ----------
    directory
        ``kubernetes`` in the state directory of the cluster; only its owner may enter.
    """

    directory: Path

    @property
    def tokens(self) -> Path:
        """The tokens that the API server knows."""
        return self.directory / "tokens.csv"

    @property
    def signing_key(self) -> Path:
        """The private key of service account tokens."""
        return self.directory / "service_accounts.key"

    @property
    def public_key(self) -> Path:
        """The public half of `signing_key`."""
        return self.directory / "service_accounts.pub"

    @property
    def certificates(self) -> Path:
        """Where the API server makes its certificate."""
        return self.directory / "certificates"

    @property
    def authority(self) -> Path:
        """The certificates by which clients know the API server."""
        return self.certificates / "apiserver.crt"

    @property
    def audit_policy(self) -> Path:
        """Which requests the API server records."""
        return self.directory / "audit.yaml"

    @property
    def audit_log(self) -> Path:
        """The requests that it recorded, one JSON object a line."""
        return self.directory / "audit.log"

    def kubeconfig(self, user: str) -> Path:
        """Return the kubeconfig of a user."""
        return self.directory / f"{user}.kubeconfig"

    def log(self, part: str) -> Path:
        """Return the log of a part of the control plane."""
        return self.directory / "logs" / f"{part}.log"

    def node(self, name: str) -> Path:
        """Return the directory of a node."""
        return self.directory / "nodes" / name


def write_tokens(files: Files, kubelets: tuple[str, ...]) -> dict[str, str]:
    """Make tokens for the administrator and for each node; return them by user."""
    tokens = {user: secrets.token_hex(16) for user in (ADMIN, *kubelets)}
    lines = [f"{tokens[ADMIN]},admin,admin,system:masters"]
    lines += [f"{tokens[node]},system:node:{node},{node},system:nodes" for node in kubelets]
    files.tokens.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tokens


def write_signing_key(files: Files) -> None:
    """Make the key pair of service account tokens."""
    run(("openssl", "genrsa", "-out", str(files.signing_key), "2048"))
    run(("openssl", "rsa", "-in", str(files.signing_key), "-pubout", "-out", str(files.public_key)))


def write_kubeconfig(files: Files, user: str, *, url: str, token: str) -> Path:
    """Write the kubeconfig of a user; whole at once, as kubelets wait for theirs."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "testbed", "cluster": {"server": url, "certificate-authority": str(files.authority)}}
        ],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": user}}],
        "current-context": "testbed",
    }
    path = files.kubeconfig(user)
    scratch = path.with_suffix(".new")
    scratch.write_text(yaml.safe_dump(document), encoding="utf-8")
    return scratch.replace(path)

"""Address of the API server and credentials for it: from the pod, or from a kubeconfig file."""

import os
from importlib.metadata import version
from pathlib import Path

from kubernetes.client import Configuration
from kubernetes.config import ConfigException, list_kube_config_contexts, load_incluster_config, load_kube_config

from gesscale.common.yaml_text import read_yaml
from gesscale.errors import ClusterError, InputError
from gesscale.kubernetes.api.connection import Connection

USER_AGENT = f"gesscale/{version('gesscale')}"
_POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_USUAL_FILE = Path("~/.kube/config")


def connect(
    kubeconfig: Path | None = None, context: str | None = None, *, namespace: str | None = None, timeout_s: float = 10.0
) -> Connection:
    """Return a connection by the pod's or a kubeconfig's credentials, without a request yet.

    Raises
    ------
    InputError
        The file or the context does not exist, or the file is no kubeconfig.
    ClusterError
        The pod's credentials cannot be used.
    """
    configuration = Configuration()
    if kubeconfig is None and context is None and "KUBERNETES_SERVICE_HOST" in os.environ:
        found = _use_pod(configuration)
    else:
        found = _use_file(configuration, kubeconfig, context)
    return Connection(configuration, namespace=namespace or found, user_agent=USER_AGENT, timeout_s=timeout_s)


def _use_pod(configuration: Configuration) -> str:
    try:
        load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]  # untyped there
        return _POD_NAMESPACE.read_text("utf-8").strip() or "default"
    except (ConfigException, OSError) as error:
        raise ClusterError("pod-credentials-unusable", cause=str(error)) from None


def _use_file(configuration: Configuration, kubeconfig: Path | None, context: str | None) -> str:
    usual = os.environ.get("KUBECONFIG") or str(_USUAL_FILE.expanduser())
    source = str(kubeconfig) if kubeconfig is not None else usual
    files = [file for each in source.split(os.pathsep) if (file := Path(each).expanduser()).is_file()]
    if not files:
        raise InputError("kubeconfig-not-found", source=source)
    try:
        for file in files:
            # the package would read it whatever its size and nesting
            if not isinstance(read_yaml(file), dict | None):
                raise ConfigException("expected a mapping")
        contexts, current = list_kube_config_contexts(config_file=source)  # type: ignore[no-untyped-call]  # untyped there
        known = {each["name"]: each for each in contexts}
        if context is None or context in known:
            load_kube_config(  # type: ignore[no-untyped-call]  # untyped there
                config_file=source, context=context, client_configuration=configuration, persist_config=False
            )
            chosen = known[context] if context is not None else current
            return str(chosen["context"].get("namespace") or "default")
    except (ConfigException, OSError, InputError) as error:
        cause = " ".join(str(error).split())
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        cause = f"{type(error).__name__} {error}"
    else:
        raise InputError("kubeconfig-context-unknown", source=source, context=context, known=sorted(known))
    raise InputError("kubeconfig-invalid", source=source, cause=cause)

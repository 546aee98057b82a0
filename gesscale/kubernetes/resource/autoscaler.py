"""A StreamAutoscaler as a value: what the API server holds, checked once more."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from gesscale.common.text import truncated_repr
from gesscale.errors import InputError
from gesscale.formatting import key_path
from gesscale.kubernetes.resource.parts import ResourcePart, ShortName, ValidationRule, in_camel_case
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.settings.problems import setting_problems
from gesscale.wire import group_of, text_of

GROUP, VERSION = "gesscale.dev", "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND, PLURAL, SINGULAR, SHORT = "StreamAutoscaler", "streamautoscalers", "streamautoscaler", "sas"
#: Label of a driver's and its executors' pods: the name of their StreamAutoscaler.
AUTOSCALER_LABEL = f"{GROUP}/autoscaler"
#: Labels of a driver pod besides `AUTOSCALER_LABEL`.
DRIVER_LABELS: Mapping[str, str] = {"spark-role": "driver"}


class Metadata(BaseModel):
    """What is read of an object's metadata."""

    model_config = ConfigDict(extra="ignore", frozen=True, alias_generator=to_camel)

    name: ShortName
    namespace: ShortName = "default"
    uid: str = Field("", max_length=128)
    generation: int = Field(0, ge=0, le=2**63 - 1)


class StreamAutoscaler(ResourcePart):
    """One operator of a workflow, and what people want of it; its status is not read here."""

    model_config = ConfigDict(extra="ignore")

    metadata: Metadata
    spec: StreamAutoscalerSpec = StreamAutoscalerSpec()
    RULES = (
        ValidationRule(
            cel="size(self.metadata.name) <= 63",
            message="expected a name of at most 63 characters, since pods carry it as a label",
        ),
        ValidationRule(
            cel="!has(self.spec.upstream) || !(self.metadata.name in self.spec.upstream)",
            message="upstream names the resource itself",
            holds=lambda it: it.metadata.name not in it.spec.upstream,
        ),
        ValidationRule(
            cel="(has(self.spec.workflow) ? self.spec.workflow : self.metadata.name) == "
            "(has(oldSelf.spec.workflow) ? oldSelf.spec.workflow : oldSelf.metadata.name)",
            message="workflow cannot be changed: create the resource again",
        ),
    )

    @property
    def name(self) -> str:
        """Name of the resource and of the operator."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """Namespace of the resource."""
        return self.metadata.namespace


def read_autoscaler(document: Mapping[str, Any]) -> StreamAutoscaler:
    """Check a resource that the API server gave, which may keep an older definition, or none of ours.

    Raises
    ------
    InputError
        In one line: every member that is wrong, what was expected there, and what came.
    """
    try:
        said = {key: value for key, value in document.items() if key != "status"}
        # As JSON and strictly: else "1" would pass for a number, which the API server refuses.
        return StreamAutoscaler.model_validate_json(json.dumps(said), strict=True)
    except ValidationError as error:
        fault = in_camel_case("; ".join(map(str, setting_problems(error, (), StreamAutoscaler))))
    except (AttributeError, TypeError, ValueError, RecursionError):
        fault = f"expected an object as JSON says it, got {truncated_repr(document)}"
    raise InputError(f"{name_in_messages(document)}: {fault}")


def name_in_messages(document: Mapping[str, Any]) -> str:
    """Return how a message calls an object, sound or not.

    Examples
    --------
    >>> name_in_messages({"metadata": {"name": "clean", "namespace": "taxi"}}), name_in_messages({})
    ('streamautoscaler taxi/clean', 'streamautoscaler default/?')
    """
    namespace, name = place_in(document)
    return f"{SINGULAR} {key_path((namespace,))}/{key_path((name,))}"


def place_in(document: object) -> tuple[str, str]:
    """Return the namespace and the name that an object tells, sound or not."""
    metadata = group_of(document, "metadata")
    return text_of(metadata, "namespace", "default"), text_of(metadata, "name", "?")

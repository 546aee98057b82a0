"""A StreamAutoscaler as a value, validated again after it was read from the API server."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from gesscale.common.errors import Problem
from gesscale.common.text import cut_at_word, truncated_repr
from gesscale.errors import InputError
from gesscale.formatting import key_path
from gesscale.kubernetes.resource.parts import ResourcePart, ShortName, ValidationRule
from gesscale.kubernetes.resource.spec import PauseSpec, StreamAutoscalerSpec
from gesscale.settings.problems import setting_problems
from gesscale.wire import group_of, text_of

GROUP, VERSION = "gesscale.dev", "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
PLURAL, SINGULAR = "streamautoscalers", "streamautoscaler"
#: Label of a driver's and its executors' pods: the name of their StreamAutoscaler.
AUTOSCALER_LABEL = f"{GROUP}/autoscaler"
#: Annotation that pauses all changes: true, false, or a reason.
PAUSED_ANNOTATION = f"{GROUP}/paused"
#: Labels of a driver pod in addition to `AUTOSCALER_LABEL`.
DRIVER_LABELS: Mapping[str, str] = {"spark-role": "driver"}


class Metadata(BaseModel):
    """The metadata that the controller needs."""

    model_config = ConfigDict(extra="ignore", frozen=True, alias_generator=to_camel)

    name: ShortName
    namespace: ShortName = "default"
    uid: str = Field("", max_length=128)
    generation: int = Field(0, ge=0, le=2**63 - 1)
    annotations: dict[str, str] = Field(default_factory=dict)


class StreamAutoscaler(ResourcePart):
    """One operator of a workflow with its spec; the status is read elsewhere."""

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
            message="expected upstream without the resource itself",
            holds=lambda it: it.metadata.name not in it.spec.upstream,
        ),
        ValidationRule(
            cel="(has(self.spec.workflow) ? self.spec.workflow : self.metadata.name) == "
            "(has(oldSelf.spec.workflow) ? oldSelf.spec.workflow : oldSelf.metadata.name)",
            message="workflow is immutable; delete and create the resource again",
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
    """Validate a resource from the API server, which may have an older or another definition.

    Raises
    ------
    InputError
        With a problem for each invalid member.
    """
    source = source_of(document)
    try:
        content = {key: value for key, value in document.items() if key != "status"}
        # As JSON and strictly: else "1" would pass for a number, which the API server refuses.
        return _paused_by_annotation(StreamAutoscaler.model_validate_json(json.dumps(content), strict=True))
    except ValidationError as error:
        problems = setting_problems(error, (), StreamAutoscaler)
    except (AttributeError, TypeError, ValueError, RecursionError):
        raise InputError("resource-malformed", source=source, got=truncated_repr(document)) from None
    raise InputError(tuple(Problem(each.code, {**each.fields, "source": source}) for each in problems))


def _paused_by_annotation(item: StreamAutoscaler) -> StreamAutoscaler:
    given = item.metadata.annotations.get(PAUSED_ANNOTATION, "false")
    if given == "false":
        return item
    why = f"annotation {PAUSED_ANNOTATION}" + ("" if given == "true" else f": {cut_at_word(given, 200)}")
    return item.model_copy(update={"spec": item.spec.model_copy(update={"pause": PauseSpec(reason=why)})})


def source_of(document: Mapping[str, Any]) -> str:
    """Return the name of an object for messages, whether it is valid or not.

    Examples
    --------
    >>> source_of({"metadata": {"name": "clean", "namespace": "taxi"}}), source_of({})
    ('streamautoscaler taxi/clean', 'streamautoscaler default/?')
    """
    namespace, name = namespaced_name(document)
    return f"{SINGULAR} {key_path((namespace,))}/{key_path((name,))}"


def namespaced_name(document: object) -> tuple[str, str]:
    """Return the namespace and the name of an object, whether it is valid or not."""
    metadata = group_of(document, "metadata")
    return text_of(metadata, "namespace", "default"), text_of(metadata, "name", "?")

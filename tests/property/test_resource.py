"""The models and the definition agree on every document: what one takes, the other takes."""

from hypothesis import given, settings
from hypothesis import strategies as st
from structural import faults
from thoroughness import examples

from gesscale.errors import InputError
from gesscale.kubernetes.resource.autoscaler import read_autoscaler
from gesscale.kubernetes.resource.crd import definition
from gesscale.kubernetes.resource.memory import MemoryStatus, knowledge_of
from gesscale.ports import Knowledge
from perfmodel import Reading

SCHEMA = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
SPEC = SCHEMA["properties"]["spec"]

# What only the rules in CEL, or Python, refuse: the API server's own judgement of rules is in tests/real/kubernetes.
#: Codes of problems that only the rules in CEL and the models find.
CODES = {
    "address-invalid",
    "names-repeated",
    "policy-not-available",
    "resource-duration-invalid",
    "resource-rule-violated",
}
#: Fields whose format only the models check.
PLACES = {"spec.latencyMap.agentsDns"}
SPANS = ("1s", "60s", "5m", "1h30m", "168h", "0s", "7d", "", "99999h", "Never")
TEXTS = (
    "",
    "a",
    "near",
    "A b",
    "x" * 64,
    "2026-11-21T21:00:00Z",
    "2026-02-30T00:00:00Z",
    "http://p:9090",
    "500m",
    *SPANS,
)


POOLS = {
    "string": (*TEXTS, 5, None),
    "boolean": (True, False, 1),
    "integer": (0, 1, 2, 8, 500, 501, -1, 2**60, 1.5, "1", None),
    "number": (0, 0.5, 1, 30, 50, 90, 100, 100.5, -1, "1", None),
}


def values(schema):
    """Values that a member may or nearly may have."""
    if "x-kubernetes-int-or-string" in schema:
        return st.sampled_from((0, 2, -1, "500m", "1Gi", "1.5", "x", "", True, None))
    if "enum" in schema:
        return st.sampled_from((*schema["enum"], "other", None))
    if "properties" in schema:
        return documents(schema)
    if schema["type"] == "object":
        return st.dictionaries(st.sampled_from(("pool", "zone")), st.sampled_from(("edge", "", "a b")))
    if schema["type"] == "array":
        return st.lists(values(schema["items"]), max_size=3)
    return st.sampled_from(POOLS[schema["type"]])


def documents(schema):
    """Documents of a group: required members nearly always, the others at times, and never many at once."""
    members, required = schema["properties"], schema.get("required", ())
    optional = {name: values(member) for name, member in members.items() if name not in required}
    chosen = st.lists(st.sampled_from(sorted(optional)), max_size=3, unique=True) if optional else st.just([])
    extras = chosen.flatmap(lambda names: st.fixed_dictionaries({name: optional[name] for name in names}))
    needed = st.fixed_dictionaries({name: values(members[name]) for name in required})
    return st.tuples(needed, extras).map(lambda pair: {**pair[0], **pair[1]})


def refusal(spec):
    try:
        read_autoscaler({"metadata": {"name": "op", "namespace": "streams"}, "spec": spec})
    except InputError as error:
        return error.problems
    return ()


@settings(max_examples=examples(400), deadline=None)
@given(documents(SPEC))
def test_models_and_definition_agree(spec):
    by_schema, by_models = list(faults(SPEC, without_null(spec))), refusal(without_null(spec))
    if by_schema:
        assert by_models, f"only the definition refuses: {by_schema}"
    elif by_models:
        only_models = [each for each in by_models if each.code not in CODES and each.fields["place"] not in PLACES]
        assert not only_models


@settings(max_examples=examples(200), deadline=None)
@given(documents(SPEC))
def test_models_accept_documents_without_null_that_they_accept_with_it(spec):
    # The API server drops null before it fills in defaults.
    if not refusal(spec):
        assert not refusal(without_null(spec))


def without_null(value):
    if isinstance(value, dict):
        return {key: without_null(item) for key, item in value.items() if item is not None}
    return [without_null(item) for item in value] if isinstance(value, list) else value


readings = st.builds(
    Reading,
    replicas=st.integers(1, 500),
    nd_max_ms=st.floats(0, 1e9),
    rows_per_s=st.floats(1e-6, 1e12),
    batch_rows=st.none() | st.floats(1e-6, 1e12),
    weight=st.none() | st.floats(1e-6, 1e6),
    at_s=st.floats(0, 4e9),
)


@given(st.lists(readings, max_size=20, unique_by=lambda reading: reading.at_s))
def test_memory_is_exact(taken):
    newest_first = tuple(sorted(taken, key=lambda reading: -reading.at_s))
    known = Knowledge(readings={"op": newest_first} if taken else {})
    memory = MemoryStatus.of(known, "op")
    document = memory.document()
    assert not list(faults(SCHEMA["properties"]["status"], {"memory": document}))
    assert knowledge_of({"op": MemoryStatus.model_validate_json(memory.model_dump_json(by_alias=True))}) == known
    assert knowledge_of({"op": MemoryStatus.model_validate(document)}) == known

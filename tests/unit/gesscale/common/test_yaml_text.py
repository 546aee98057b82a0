"""YAML is read within bounds, strictly, and in one place only."""

import tracemalloc

import pytest
from refusals import refused

from gesscale.common.text import truncated_repr
from gesscale.common.yaml_text import MAX_BYTES, MAX_DEPTH, MAX_VALUES, parse_yaml, read_yaml
from gesscale.errors import InputError

# Ten levels of nine aliases each: 9^10 = 3.5e9 values out of 400 characters.
BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing", None),
        ("---", None),
        ("a: 1\nb: [1.5, true, null, x, '1', ~]", {"a": 1, "b": [1.5, True, None, "x", "1", None]}),
        ("a: {b: {}}\nc: []", {"a": {"b": {}}, "c": []}),
        ("\ufeffa: 1", {"a": 1}),
        ("2001-99-99", "2001-99-99"),  # dates are text
        ("a: 2001-01-01", {"a": "2001-01-01"}),
        ("a: =", {"a": "="}),
        ("1: a\non: b\n~: c", {"1": "a", "on": "b", "~": "c"}),  # so are keys
        ("a: !!str 5", {"a": "5"}),
        ("<<: {a: 1}", {"<<": {"a": 1}}),  # also this one
    ],
)
def test_what_json_could_say_is_read(text, value):
    assert parse_yaml(text, "file") == value


@pytest.mark.parametrize(
    ("text", "code", "fields"),
    [
        ("!!int ''", "yaml-invalid", {}),
        ("!!float x", "yaml-invalid", {}),
        ("!!bool x", "yaml-invalid", {}),
        ("!!timestamp x", "yaml-tag-refused", {"tag": "tag:yaml.org,2002:timestamp"}),
        ("!!binary '='", "yaml-tag-refused", {}),
        ("!!set {a}", "yaml-tag-refused", {}),
        ("!!omap [a: 1]", "yaml-tag-refused", {}),
        ("!!python/object/apply:os.system [id]", "yaml-tag-refused", {}),
        ("9" * 5000, "yaml-number-oversized", {"length": 5000, "limit": 64}),
        ("0x" + "f" * 100_000, "yaml-number-oversized", {"length": 100_002}),
        ("1:" * 100 + "1", "yaml-number-oversized", {"length": 201}),
        ("a: 1\nb: 2\na: 3", "yaml-key-duplicate", {"place": "line 3, column 1", "key": "a"}),
        ("1: a\n'1': b", "yaml-key-duplicate", {"place": "line 2, column 1", "key": "1"}),
        ("? [a]\n: 1", "yaml-key-invalid", {}),
        ("a: &x {b: 1}\nc: *x", "yaml-alias-refused", {"place": "line 2, column 4", "alias": "x"}),
        ("*a", "yaml-alias-refused", {"alias": "a"}),
        ("&a [*a]", "yaml-alias-refused", {"alias": "a"}),
        ("a: 1\n---\nb: 2", "yaml-invalid", {}),
        ("[" * 3000, "yaml-too-deep", {"limit": MAX_DEPTH}),
        ("{a: " * 3000, "yaml-too-deep", {}),
        ("- " * 3000, "yaml-too-deep", {}),
        (BOMB, "yaml-alias-refused", {"alias": "a0"}),
        ("- a\n" * MAX_VALUES, "yaml-too-large", {"limit": MAX_VALUES, "counted": "values"}),
        ("a" * (MAX_BYTES + 1), "yaml-too-large", {"limit": MAX_BYTES, "counted": "characters"}),
        ("a: \x00", "yaml-invalid", {}),
        ("\ud800", "yaml-invalid", {}),
        ("%YAML 9.9\n---\na", "yaml-invalid", {}),
        ("a: [", "yaml-invalid", {}),
        ("a: b: c", "yaml-invalid", {"place": "line 1, column 5"}),
        ("\t@", "yaml-invalid", {}),
        ("!!", "yaml-invalid", {}),
        ("&", "yaml-invalid", {}),
    ],
    ids=truncated_repr,
)
def test_other_yaml_is_refused_in_one_line(text, code, fields):
    with refused(code, InputError, source="file", **fields) as caught:
        parse_yaml(text, "file")
    assert len(str(caught.value)) < 300


def test_large_yaml_is_refused_before_it_takes_memory():
    tracemalloc.start()
    with refused("yaml-too-large", InputError):
        parse_yaml("- a\n" * 10 * MAX_VALUES, "file")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6


def test_a_file_is_read_up_to_a_limit(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a: 1")
    assert read_yaml(file) == {"a": 1}
    with refused("file-too-large", InputError, source=str(file), max_bytes=3):
        read_yaml(file, max_bytes=3)
    file.write_bytes(b"\xff\xfe")
    with refused("file-not-utf8", InputError, source="the settings"):
        read_yaml(file, "the settings")
    with pytest.raises(FileNotFoundError):
        read_yaml(tmp_path / "none.yaml")

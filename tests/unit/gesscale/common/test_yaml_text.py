"""YAML is read within bounds, strictly, and in one place only."""

import tracemalloc

import pytest

from gesscale.common.text import truncated_repr
from gesscale.common.yaml_text import MAX_BYTES, MAX_DEPTH, MAX_VALUES, parse_yaml, read_yaml
from gesscale.errors import InputError

# Ten levels of nine aliases each: 9^10 = 3.5e9 values out of 400 characters.
BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 10)
)


def refusal(text):
    with pytest.raises(InputError) as caught:
        parse_yaml(text, "file")
    message = str(caught.value)
    assert message.startswith("file")
    assert message.isprintable()  # one line
    assert len(message) < 300
    return message


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
    ("text", "problem"),
    [
        ("!!int ''", "expected YAML"),
        ("!!float x", "expected YAML"),
        ("!!bool x", "expected YAML"),
        ("!!timestamp x", "timestamp', which is not read"),
        ("!!binary '='", "binary', which is not read"),
        ("!!set {a}", "set', which is not read"),
        ("!!omap [a: 1]", "omap', which is not read"),
        ("!!python/object/apply:os.system [id]", "which is not read"),
        ("9" * 5000, "int of 5000 characters, where at most 64"),
        ("0x" + "f" * 100_000, "int of 100002 characters"),
        ("1:" * 100 + "1", "int of 201 characters"),
        ("a: 1\nb: 2\na: 3", "line 3, column 1: expected YAML, got: the key 'a' twice"),
        ("1: a\n'1': b", "line 2, column 1: expected YAML, got: the key '1' twice"),
        ("? [a]\n: 1", "key that is no text"),
        ("a: &x {b: 1}\nc: *x", "line 2, column 4: expected YAML, got: the alias 'x'"),
        ("*a", "the alias 'a'"),
        ("&a [*a]", "the alias 'a'"),
        ("a: 1\n---\nb: 2", "another document"),
        ("[" * 3000, f"more than {MAX_DEPTH} levels"),
        ("{a: " * 3000, f"more than {MAX_DEPTH} levels"),
        ("- " * 3000, f"more than {MAX_DEPTH} levels"),
        (BOMB, "the alias 'a0'"),
        ("- a\n" * MAX_VALUES, f"more than {MAX_VALUES} values"),
        ("a" * (MAX_BYTES + 1), f"at most {MAX_BYTES} characters, got {MAX_BYTES + 1}"),
        ("a: \x00", "expected YAML"),
        ("\ud800", "expected YAML"),
        ("%YAML 9.9\n---\na", "expected YAML"),
        ("a: [", "expected YAML"),
        ("a: b: c", "line 1, column 5"),
        ("\t@", "expected YAML"),
        ("!!", "expected YAML"),
        ("&", "expected YAML"),
    ],
    ids=truncated_repr,
)
def test_anything_else_is_refused_in_one_line(text, problem):
    assert problem in refusal(text)


def test_too_much_is_refused_before_it_takes_memory():
    tracemalloc.start()
    assert f"more than {MAX_VALUES} values" in refusal("- a\n" * 10 * MAX_VALUES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6


def test_a_file_is_read_up_to_a_limit(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a: 1")
    assert read_yaml(file) == {"a": 1}
    with pytest.raises(InputError, match=r"a\.yaml: expected at most 3 bytes, got more"):
        read_yaml(file, max_bytes=3)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"^the settings: expected text in UTF-8"):
        read_yaml(file, "the settings")
    with pytest.raises(FileNotFoundError):
        read_yaml(tmp_path / "none.yaml")

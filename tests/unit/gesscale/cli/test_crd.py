import yaml


def test_the_definition_is_yaml_on_stdout(gesscale):
    code, out, _ = gesscale("crd", "show")
    assert code == 0
    assert yaml.safe_load(out)["metadata"]["name"] == "streamautoscalers.gesscale.dev"


def test_the_page_is_markdown_on_stdout(gesscale):
    code, out, _ = gesscale("crd", "docs")
    assert code == 0
    assert out.startswith("# StreamAutoscaler\n")

"""The commands with a knowledge file: read, written, and corrupt."""


def test_advice_reads_knowledge_and_writes_none(gesscale, site):
    site.serve_overload()
    gesscale("recommend", "-c", site.config)
    assert not site.knowledge.exists()
    gesscale("once", "-c", site.config)
    before = site.knowledge.read_bytes()
    code, _, _ = gesscale("recommend", "-c", site.config)
    assert (code, site.knowledge.read_bytes()) == (0, before)


def test_a_corrupt_knowledge_file_is_replaced(gesscale, site, caplog):
    site.knowledge.write_bytes(b"garbage" * 1000)
    site.serve_overload()
    code, _, _ = gesscale("once", "-c", site.config)
    (side_files,) = site.folder.glob("knowledge.sqlite.corrupt-*")
    assert code == 0
    assert side_files.read_bytes() == b"garbage" * 1000
    assert side_files.name in caplog.text

"""Every parser that is fuzzed."""

from fuzz.targets import knowledge, kubernetes, maps, pages, records, tables, yaml_files

TARGETS = (
    *maps.TARGETS,
    *tables.TARGETS,
    *yaml_files.TARGETS,
    *pages.TARGETS,
    *records.TARGETS,
    *knowledge.TARGETS,
    *kubernetes.TARGETS,
)

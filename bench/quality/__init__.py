"""The parts of ``bench.compaction_quality``."""

import msgspec

from tests.cases import case, filled
from ullage import events, messages, usage
from ullage.extensible import Extensible


def all_words(kind: type[Extensible] = Extensible) -> list[type[Extensible]]:
    return [each for sub in kind.__subclasses__() for each in (sub, *all_words(sub))]


def test_the_words_of_all_modules_are_extensible() -> None:
    modules = {word.__module__ for word in all_words()}
    assert {events.__name__, messages.__name__, usage.__name__} <= modules


def test_a_word_is_frozen_and_keeps_unknown_fields_out_of_its_own() -> None:
    for kind in filled(all_words()):
        with case(kind):
            config = kind.__struct_config__
            assert config.frozen is True
            assert config.omit_defaults is True
            assert config.forbid_unknown_fields is True
            assert {
                field.name: field.encode_name for field in msgspec.structs.fields(kind)
            }["extra"] == "~"

"""What the quick pass says yes to, the close look leaves as it is."""

import os

from tests.codec.histories import broken_request
from tests.codec.test_repair import CLAUDE, loop, request
from ullage.codec.repair_names import legal_messages
from ullage.codec.repair_notes import Notes
from ullage.codec.repair_order import is_in_order, is_plain
from ullage.codec.repair_pairs import paired
from ullage.codec.repair_reasoning import sound_parts
from ullage.codec.repair_targets import target_of

CASES = 30_000 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 3_000


def test_a_loop_in_good_order_is_seen_at_once() -> None:
    target = target_of(request(target=CLAUDE))
    assert is_in_order(loop(5), target)
    assert all(is_plain(message, target) for message in loop(5))


def test_plain_messages_need_no_repair() -> None:
    plain = 0
    for seed in range(CASES):
        broken = broken_request(seed)
        target = target_of(broken)
        for message in broken.messages:
            if is_plain(message, target):
                notes = Notes()
                parts = sound_parts(message, target, sent=None, stored=False, notes=notes)
                assert notes.repairs == [], f"seed {seed}"
                assert parts == message.parts
                plain += 1
    assert plain > CASES // 2


def test_histories_in_order_need_no_repair() -> None:
    in_order = 0
    for seed in range(CASES):
        broken = broken_request(seed)
        target = target_of(broken)
        if is_in_order(broken.messages, target):
            notes = Notes()
            made = legal_messages(paired(broken.messages, notes), target, notes)
            if any(one.role == "tool" and not one.parts for one in broken.messages):
                continue  # empty messages are gone before this is asked
            assert made == list(broken.messages), f"seed {seed}"
            assert notes.repairs == []
            in_order += 1
    assert in_order > CASES // 50

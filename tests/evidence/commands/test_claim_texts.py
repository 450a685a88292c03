"""Claims in words that tests pass: which texts are one."""

import pytest
from helpers import tables

from scoring.evidence.commands.claim_texts import claims_tests_pass


@pytest.mark.parametrize("text", tables.cases("claims", "claims"))
def test_a_claim(text: str) -> None:
    assert claims_tests_pass(text)


@pytest.mark.parametrize("text", tables.cases("claims", "no claims"))
def test_no_claim(text: str) -> None:
    assert not claims_tests_pass(text)

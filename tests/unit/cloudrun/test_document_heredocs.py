"""A document that a shell script writes is read from the script, with the script's own lines."""

import pytest

from shared.cloudrun.described import Form
from shared.cloudrun.described_documents import read_described_document
from shared.cloudrun.document_heredocs import document_in_script
from shared.lint.checking import check
from shared.lint.given import Given, Text
from tests.support.pasted_services import V1, V2, changed

REPLACE = "gcloud run services replace service.yaml --region=us-east4 --project acme-ml\n"


def script(document: str, *, opener: str = "cat > service.yaml <<EOF", front: str = "set -e\n") -> str:
    return f"{front}{opener}\n{document}EOF\n{REPLACE}"


@pytest.mark.parametrize("opener", ["cat > service.yaml <<EOF", "cat <<'EOF' >service.yaml", 'gcloud run services replace - <<-"EOF"'])
def test_the_document_keeps_the_lines_of_the_script(opener: str) -> None:
    read = read_described_document(script(V1, opener=opener))
    assert (read.form, read.complete, read.problems) == (Form.V1, True, ())
    assert read.place("/template/containers/0/resources/limits/cpu")[1] == 19 + 2


def test_region_and_project_are_those_of_the_command_where_the_document_is_silent() -> None:
    silent = changed(V1, ("  labels: {cloud.googleapis.com/location: us-east4}\n", ""))
    read = read_described_document(script(silent))
    assert (read.region, read.project) == ("us-east4", "acme-ml")
    assert read_described_document(script(changed(V1, (": us-east4", ": europe-west1")))).region == "europe-west1"


def test_variables_that_the_script_sets_are_replaced_but_not_behind_quotes() -> None:
    document = changed(V1, ("containerConcurrency: 24", "containerConcurrency: ${C}"))
    assert read_described_document(script(document, front="export C=16\n")).service["template"]["maxInstanceRequestConcurrency"] == 16
    quoted = document_in_script(script(document, front="export C=16\n", opener="cat <<'EOF' > service.yaml"))
    assert quoted is not None
    assert "${C}" in quoted.text


def test_a_document_with_a_script_in_it_is_no_script() -> None:
    inside = changed(V2, ("    env:", "    args: ['-c', 'cat <<EOF\\napiVersion: 1\\nEOF']\n    env:"))
    assert document_in_script(inside) is None
    assert document_in_script("cat <<EOF\nhello\nEOF\n") is None
    assert document_in_script("a: &x {b: 1}\nc:\n  <<: *x\n") is None


def test_rules_see_the_document_of_the_script() -> None:
    text = script(changed(V1, ("containerConcurrency: 24", "containerConcurrency: 2400")))
    found = [each for each in check(Given("deploy.sh", deploy=Text(text, "deploy.sh"))).findings if each.code == "cloud-run-limit"]
    assert [each.where.line for each in found] == [13 + 2]

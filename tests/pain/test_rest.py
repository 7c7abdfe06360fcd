"""What users of memories with a web interface suffer from, over REST."""

from __future__ import annotations

from pathlib import Path

from tests.support.serving import serving

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "</script><script>alert(1)</script>",
    '"><svg onload=a()>',
)


def test_row_74_hostile_words_come_back_inert_over_rest(tmp_path: Path) -> None:
    """Texts, tags and kinds that are scripts are data in JSON, which no browser renders or guesses to be a page."""
    with serving(tmp_path) as server:
        client = server.client("alice")
        for words in HOSTILE:
            made = client.post(
                "/api/v1/notes",
                json={"text": words, "kind": "note", "tags": [words], "project": words, "metadata": {words: words}},
            )
            assert made.status_code == 200, made.text
            id_ = made.json()["id"]
            answers = [
                client.get(f"/api/v1/notes/{id_}"),
                client.get("/api/v1/notes", params={"project": words}),
                client.get("/api/v1/recall", params={"query": words}),
                client.get("/api/v1/projects"),
                client.get("/api/v1/notes", params={words: words}),
                client.get("/api/v1/notes", params={"tier": words}),
                client.post("/api/v1/notes", json={words: words}),
                client.get("/api/v1/notes/%3Cimg%3E"),
                client.get("/api/v1/%3Cimg%3E"),
            ]
            assert answers[0].json()["text"] == words
            assert answers[1].json()["items"][0]["tags"] == [words]
            for answer in answers:
                assert answer.headers["content-type"] == "application/json"
            answers.append(client.get("/api/v1/export"))
            with client.stream("GET", "/api/v1/events", params={"since": "0"}) as stream:
                answers.append(stream)
            for answer in answers:
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert "default-src 'none'" in answer.headers["content-security-policy"]
                assert "html" not in answer.headers["content-type"]
                assert all(words not in value for value in answer.headers.values())
                assert "access-control-allow-origin" not in answer.headers

"""OllamaEmbedder and OpenAIEmbedder against a real server, well-behaved and otherwise."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from memhop.common.errors import EmbedderError, InvalidRequest
from memhop.models.embed_http import OllamaEmbedder, OpenAIEmbedder
from memhop.models.embed_remote import RemoteEmbedder
from tests.support.embedding_server import FAULTS, EmbeddingServer

KEY = "sk-secret-4711"
TIMEOUT = 0.25
Make = Callable[..., RemoteEmbedder]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(dim=4) as running:
        yield running


@pytest.fixture(params=["ollama", "openai"])
def make(request: pytest.FixtureRequest, server: EmbeddingServer) -> Iterator[Make]:
    opened: list[RemoteEmbedder] = []

    def build(model: str = "m", *, retries: int = 0, timeout: float = TIMEOUT, **more: Any) -> RemoteEmbedder:
        built: RemoteEmbedder
        if request.param == "ollama":
            built = OllamaEmbedder(server.url, model, timeout=timeout, retries=retries, **more)
        else:
            built = OpenAIEmbedder(model, f"{server.url}/v1", KEY, timeout=timeout, retries=retries, **more)
        opened.append(built)
        return built

    yield build
    for embedder in opened:
        embedder.close()


def unit(vector: list[float]) -> list[float]:
    array = np.array(vector)
    return list(array / np.linalg.norm(array))


def test_vectors_come_back_in_order_and_unit_length(server: EmbeddingServer, make: Make) -> None:
    embedder = make(timeout=5.0)
    assert embedder.dim is None
    vectors = embedder.embed(["one", "two", "三"])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [unit(server.vector(t)) for t in ("one", "two", "三")], atol=1e-6)
    assert embedder.dim == 4


def test_construction_opens_no_socket_and_an_empty_list_asks_nothing(server: EmbeddingServer, make: Make) -> None:
    assert make().embed([]).shape == (0, 0)
    assert make().embed(["  ", "\n"]).shape == (2, 0)
    assert server.connections == 0


def test_importing_and_constructing_loads_no_client() -> None:
    code = (
        "import sys; from memhop.models.embed_http import OllamaEmbedder, OpenAIEmbedder;"
        "OllamaEmbedder('http://127.0.0.1:1', 'm'); OpenAIEmbedder('m', 'http://127.0.0.1:1/v1');"
        "print(sorted({'openai', 'httpx', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_prefixes_tell_questions_from_stored_text(server: EmbeddingServer, make: Make) -> None:
    embedder = make(timeout=5.0, query_prefix="query: ", passage_prefix="passage: ")
    embedder.embed(["x"])
    embedder.embed(["x"], query=True)
    assert [request.body["input"] for request in server.requests] == [["passage: x"], ["query: x"]]


def test_a_long_list_is_sent_in_parts(server: EmbeddingServer, make: Make) -> None:
    embedder = make(timeout=5.0)
    texts = [f"text {number}" for number in range(embedder.max_batch * 2 + 1)]
    vectors = embedder.embed(texts)
    assert [len(request.body["input"]) for request in server.requests] == [32, 32, 1]
    np.testing.assert_allclose(vectors[-1], unit(server.vector(texts[-1])), atol=1e-6)


def test_half_a_surrogate_pair_is_sent_as_a_question_mark(server: EmbeddingServer, make: Make) -> None:
    make(timeout=5.0).embed(["a\ud800b"])
    assert server.requests[0].body["input"] == ["a?b"]


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_one_error_with_one_line(server: EmbeddingServer, make: Make, fault: str) -> None:
    embedder = make(timeout=TIMEOUT if fault in ("slow", "drip", "drip_headers") else 5.0)
    embedder.dim = 4  # learned before; so that "wrong_dim" is wrong
    server.faults = [fault]
    with pytest.raises(EmbedderError) as caught:
        embedder.embed(["text"])
    error = caught.value
    assert isinstance(error, EmbedderError)
    assert "\n" not in str(error)
    assert len(str(error)) <= 260
    assert error.to_dict()["error"] == "EmbedderError"
    passing = {"slow", "drip", "drip_headers", "http_429", "http_500", "html", "half_json", "deep_json", "closed"}
    assert error.retryable == (fault in passing)
    assert embedder.dim == 4
    assert len(embedder.embed(["text"])) == 1, "a failure must not spoil the next call"


@pytest.mark.parametrize("fault", FAULTS)
def test_the_key_is_in_no_error_and_no_repr(server: EmbeddingServer, fault: str) -> None:
    embedder = OpenAIEmbedder("m", f"{server.url}/v1", KEY, timeout=TIMEOUT, retries=0)
    embedder.dim = 4
    server.faults = [fault]
    with pytest.raises(EmbedderError) as caught:
        embedder.embed(["text"])
    embedder.close()
    shown = [repr(embedder), embedder.digest, str(caught.value), repr(caught.value), str(caught.value.to_dict())]
    assert not any(KEY in text or KEY[-8:] in text for text in shown), "not even a part of it"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_reasons_say_what_happened(server: EmbeddingServer, make: Make) -> None:
    expected = {
        "slow": "did not answer within 0.25 s",
        "http_404": "404: model 'm' not found",
        "http_429": "429: rate limit",
        "html": "not JSON: '<html>",
        "too_few": "0 vectors for 1 texts",
        "wrong_dim": "5 dimensions, expected 4",
        "nan": "no usable vector",
        "huge": "longer than",
        "gzip": "compressed",
    }
    embedder = make()
    embedder.dim = 4
    for fault, words in expected.items():
        server.faults = [fault]
        with pytest.raises(EmbedderError, match=words):
            embedder.embed(["text"])


def test_a_passing_failure_is_tried_again(server: EmbeddingServer, make: Make) -> None:
    server.faults = ["http_429", "closed"]
    assert len(make(retries=2, timeout=5.0).embed(["text"])) == 1
    assert len(server.requests) == 3


def test_a_lasting_failure_is_not_tried_again(server: EmbeddingServer, make: Make) -> None:
    server.faults = ["http_401"]
    with pytest.raises(EmbedderError):
        make(retries=3, timeout=5.0).embed(["text"])
    assert len(server.requests) == 1


def test_a_long_pause_is_left_to_the_queue(server: EmbeddingServer, make: Make) -> None:
    """A service may ask for any pause. Up to 5 s are waited out; more is handed up, so that no call hangs."""
    server.faults = ["http_429"]
    server.retry_after = "86400"
    with pytest.raises(EmbedderError) as caught:
        make(retries=3, timeout=5.0).embed(["text"])
    assert len(server.requests) == 1
    assert caught.value.retryable
    assert caught.value.retry_after_s == 3600.0


@pytest.mark.parametrize(
    ("header", "expected"),
    [("2.5", 2.5), ("-3", 0.0), ("nan", None), ("soon", None), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), (None, None)],
)
def test_retry_after_takes_seconds_and_dates(
    server: EmbeddingServer, make: Make, header: str | None, expected: float | None
) -> None:
    server.faults = ["http_429"]
    server.retry_after = header
    with pytest.raises(EmbedderError) as caught:
        make(timeout=5.0).embed(["text"])
    assert caught.value.retry_after_s == expected


def test_a_question_is_not_kept_waiting_by_retries(server: EmbeddingServer, make: Make) -> None:
    server.faults = ["http_500", "http_500"]
    with pytest.raises(EmbedderError):
        make(retries=3, timeout=5.0).embed(["why"], query=True)
    assert len(server.requests) == 1


def test_a_question_survives_one_dropped_connection(server: EmbeddingServer, make: Make) -> None:
    """A service that restarts drops the connections it kept alive; the first question after it must not fail."""
    server.faults = ["closed"]
    assert len(make(timeout=5.0).embed(["why"], query=True)) == 1


def test_one_bad_vector_does_not_spoil_the_batch(server: EmbeddingServer, make: Make) -> None:
    server.bad_texts = {"bad"}
    vectors = make(timeout=5.0).embed(["one", "bad", "", "two"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 0, 1], atol=1e-6)


def test_one_refused_text_does_not_spoil_the_batch(server: EmbeddingServer, make: Make) -> None:
    """A text longer than the model reads makes some services refuse the whole batch, and the other texts of the
    batch stayed without vectors for good. They are sent again one by one.
    """
    server.refused_texts = {"long"}
    vectors = make(timeout=5.0).embed(["long", "one", "two"])
    np.testing.assert_allclose(vectors[1:], [unit(server.vector(t)) for t in ("one", "two")], atol=1e-6)
    assert not vectors[0].any()


def test_a_service_that_refuses_everything_is_given_up_early(server: EmbeddingServer, make: Make) -> None:
    texts = [f"text {number}" for number in range(20)]
    server.refused_texts = set(texts)
    with pytest.raises(EmbedderError, match="400: the input length exceeds"):
        make(timeout=5.0).embed(texts)
    assert len(server.requests) == 1 + 3


def test_a_dimension_is_learned_from_usable_vectors_only(server: EmbeddingServer, make: Make) -> None:
    """The first reply used to set the dimension even when it was zeros, and every later vector was refused."""
    embedder = make(timeout=5.0)
    for fault in ("zeros", "nan", "empty_vectors"):
        server.faults = [fault]
        with pytest.raises(EmbedderError, match="no usable vector"):
            embedder.embed(["text"])
    assert embedder.dim is None
    server.dim = 6
    assert embedder.embed(["text"]).shape == (1, 6)


def test_a_model_that_changes_its_dimension_is_refused(server: EmbeddingServer, make: Make) -> None:
    embedder = make(timeout=5.0)
    embedder.embed(["text"])
    server.dim = 8
    with pytest.raises(EmbedderError, match="8 dimensions, expected 4"):
        embedder.embed(["text"])


def test_nobody_listening_is_an_embedder_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for embedder in (
        OllamaEmbedder(f"http://127.0.0.1:{port}", "m", retries=0),
        OpenAIEmbedder("m", f"http://127.0.0.1:{port}/v1", retries=0),
    ):
        with pytest.raises(EmbedderError, match="cannot be reached") as caught:
            embedder.embed(["text"])
        assert caught.value.retryable
        embedder.close()


def test_openai_asks_for_dimensions_and_another_model_for_questions(server: EmbeddingServer) -> None:
    embedder = OpenAIEmbedder("store", f"{server.url}/v1", dimensions=4, query_model="ask")
    embedder.embed(["x"])
    np.testing.assert_allclose(embedder.embed(["x"], query=True), [unit(server.vector("x", "ask"))], atol=1e-6)
    assert [(r.body["model"], r.body["dimensions"]) for r in server.requests] == [("store", 4), ("ask", 4)]
    embedder.close()


def test_openai_takes_a_client_of_the_caller_and_leaves_it_open(server: EmbeddingServer) -> None:
    with httpx.Client(headers={"x-mine": "yes"}, timeout=5.0) as client:
        embedder = OpenAIEmbedder("m", f"{server.url}/v1", KEY, http_client=client)
        embedder.embed(["x"])
        embedder.close()
        assert not client.is_closed
        assert server.requests[0].headers["x-mine"] == "yes"
        server.faults = ["huge"]
        with pytest.raises(EmbedderError, match="longer than"):
            embedder.embed(["x"])


def test_a_key_of_the_environment_is_not_sent_to_another_server(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedder = OpenAIEmbedder("m", f"{server.url}/v1")
    embedder.embed(["x"])
    embedder.close()
    assert not any(KEY in value for value in server.requests[0].headers.values())
    with pytest.raises(InvalidRequest, match="api_key"):
        OpenAIEmbedder("m")


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    server: EmbeddingServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert len(make(timeout=5.0).embed(["x"])) == 1


def test_settings_that_change_vectors_change_the_digest(make: Make) -> None:
    digests = {make().digest, make("n").digest, make(query_prefix="q").digest, make(passage_prefix="q").digest}
    assert len(digests) == 4
    assert make().digest == make().digest
    assert OllamaEmbedder("http://a", "m").digest == OllamaEmbedder("http://b", "m").digest


@pytest.mark.parametrize(
    "url", ["", "localhost:11434", "ftp://host", "http://", "http://user:pw@host", "http://a b", "http://h:99999", 7]
)
def test_a_url_is_checked_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        OllamaEmbedder(url, "m")
    assert caught.value.field == "url"
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [("model", " "), ("timeout", 0), ("timeout", float("nan")), ("retries", 6), ("retries", True), ("query_prefix", 3)],
)
def test_arguments_are_checked(field: str, value: object) -> None:
    arguments: dict[str, object] = {"url": "http://h", "model": "m", field: value}
    with pytest.raises(InvalidRequest) as caught:
        OllamaEmbedder(**arguments)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_a_closed_embedder_connects_again(server: EmbeddingServer, make: Make) -> None:
    embedder = make(timeout=5.0)
    for _ in range(2):
        assert len(embedder.embed(["x"])) == 1
        embedder.close()
    assert server.connections == 2


@pytest.mark.parametrize("key", ["", "two\nlines", "schlüssel"])
def test_a_key_is_checked_and_not_repeated(key: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        OpenAIEmbedder("m", api_key=key)
    assert not key or key not in str(caught.value)


def test_texts_are_checked(make: Make) -> None:
    for wrong in ("one text", [1], [None]):
        with pytest.raises(InvalidRequest):
            make().embed(wrong)  # type: ignore[arg-type]

"""A real embedding service on loopback, which can be told to misbehave.

Speaks Ollama (/api/embed, /api/tags) and OpenAI (/v1/embeddings, float and base64). Vectors are a function of the
text and the model, so that tests can say what to expect.

    with EmbeddingServer(dim=4) as server:
        server.faults = ["http_500", "http_429"]    # for the next two requests; afterwards it behaves
        OllamaEmbedder(server.url, "m").embed(["text"])
        server.requests[0].body["input"]
"""

from __future__ import annotations

from typing import Any

from tests.support import model_server
from tests.support.model_server import Asked, Fault, ModelServer, Wire, send_vectors, status

_ROWS = ("too_few", "too_many", "wrong_dim", "nan", "zeros", "empty_vectors", "strings")
_WIRE: dict[str, Fault] = {
    "slow": model_server.silent,
    "drip": model_server.drip,
    "drip_headers": model_server.drip_headers,
    "http_401": model_server.tells_the_key,
    "http_404": Fault(
        lambda wire: wire.json(404, {"error": f"model 'm' not found\nauth: {wire.asked.headers.get('authorization')}"})
    ),
    "http_500": status(500, "json: unsupported value: NaN"),
    "html": model_server.html,
    "half_json": model_server.half_json,
    "deep_json": model_server.deep_json,
    "no_vectors": model_server.no_fields,
    "huge": model_server.huge,
    "gzip": model_server.packed,
    "redirect": model_server.redirect,
    "closed": model_server.closed,
}
FAULTS = (*_WIRE, "http_429", *_ROWS)


class EmbeddingServer(ModelServer):
    """Listens from construction until `close`.

    Attributes:
        faults: Names out of FAULTS, one taken off for each embedding request. Empty: behave.
        bad_texts: Texts which give a vector of NaN.
        refused_texts: A request with one of these is answered with status 400.
        retry_after: Value of that header in a 429. None: no header.
    """

    models = ("m",)

    def __init__(self, dim: int = 4) -> None:
        self.faults: list[str] = []
        self.bad_texts: set[str] = set()
        self.refused_texts: set[str] = set()
        self.retry_after: str | None = "0"
        super().__init__(dim=dim)

    @property
    def requests(self) -> list[Asked]:
        """Embedding requests so far."""
        return self.asked

    def vector(self, text: str, model: str = "m") -> list[float]:
        return super().vector(text, model)

    def embed(self, wire: Wire) -> None:
        fault = self.faults.pop(0) if self.faults else ""
        if self.refused_texts.intersection(wire.asked.body["input"]):
            wire.json(400, {"error": "the input length exceeds the context length"})
        elif fault == "http_429":
            headers = {} if self.retry_after is None else {"retry_after": self.retry_after}
            status(429, "rate limit", **headers)(wire)
        elif fault in _WIRE:
            _WIRE[fault](wire)
        else:
            send_vectors(wire, self._rows(fault, wire.asked.body))

    def _rows(self, fault: str, body: Any) -> list[Any]:
        rows: list[Any] = [
            [float("nan")] * self.dim if text in self.bad_texts else self.vector(text, body["model"])
            for text in body["input"]
        ]
        changed: dict[str, list[Any]] = {
            "too_few": rows[:-1],
            "too_many": rows + rows[:1],
            "wrong_dim": [[*row, 0.5] for row in rows],
            "nan": [[float("nan"), *row[1:]] for row in rows],
            "zeros": [[0.0] * self.dim for _ in rows],
            "empty_vectors": [[] for _ in rows],
            "strings": [["0.5"] * self.dim for _ in rows],
        }
        return changed.get(fault, rows)

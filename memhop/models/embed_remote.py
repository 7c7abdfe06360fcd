"""What embedders behind HTTP have in common: prefixes, batches, retries, and distrust of every reply.

The services themselves are in `embed_http`; this module only asks them for vectors and judges what comes back.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memhop.common.errors import EmbedderError, InvalidRequest
from memhop.models import http
from memhop.models.embed import check_texts, check_vectors
from memhop.models.http import Failure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LARGEST_DIM = 65_536
_GIVE_UP_AFTER = 3  # single texts refused in a row, with none accepted, before the service is taken to be broken


class RemoteEmbedder:
    """Base of the embedders behind HTTP. A subclass knows one API: `_ask` and `close`."""

    max_batch = 32

    def __init__(
        self,
        kind: str,
        model: str,
        host: str,
        *,
        query_model: str | None,
        dimensions: int | None,
        timeout: float,
        retries: int,
        query_prefix: str,
        passage_prefix: str,
    ) -> None:
        for field, value in (("model", model), ("query_model", query_model)):
            if value is not None and (not isinstance(value, str) or not value.strip()):
                raise InvalidRequest("blank or no str", field=field, allowed="the name of a model")
        for field, value in (("query_prefix", query_prefix), ("passage_prefix", passage_prefix)):
            if not isinstance(value, str):
                raise InvalidRequest(f"a {type(value).__name__} is no text", field=field, allowed="a str")
        if dimensions is not None and not (type(dimensions) is int and 1 <= dimensions <= _LARGEST_DIM):
            raise InvalidRequest(f"{dimensions!r} is no dimension", field="dimensions", allowed=f"1..{_LARGEST_DIM}")
        http.check_limits(timeout, retries)
        self.name = model
        self.dim = dimensions
        # The weights behind a name cannot be seen from here: a model replaced under its old name is noticed only
        # by its dimension. The address is left out, the same model elsewhere gives the same vectors.
        settings = json.dumps([kind, model, query_model, dimensions, query_prefix, passage_prefix])
        self.digest = f"{kind}-{hashlib.sha256(settings.encode('utf-8')).hexdigest()[:16]}"
        self._host = host
        self._query_model = query_model or model
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        self._retries = retries
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.name!r}, host={self._host!r}, dim={self.dim})"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """See `Embedder.embed`. Blank texts are not sent. A batch refused because of its content is sent again
        one text at a time, so that one text too many for the model costs only itself.

        Raises:
            EmbedderError: no reply, an unusable one, or no usable vector for any of the texts.
        """
        import numpy as np

        listed = check_texts(texts)
        prefix = self._query_prefix if query else self._passage_prefix
        sent = [at for at, text in enumerate(listed) if text.strip()]
        rows: list[NDArray[np.float64] | None] = [None] * len(listed)
        try:
            for start in range(0, len(sent), self.max_batch):
                part = sent[start : start + self.max_batch]
                replies = self._batch([http.sendable(prefix + listed[at]) for at in part], query)
                for at, row in zip(part, replies, strict=True):
                    rows[at] = row
            self._learn(rows, asked=bool(sent))
        except Failure as failure:
            # `from None`: the clients' own exceptions hold requests, and requests hold keys.
            raise EmbedderError(
                failure.reason, retryable=failure.retryable, retry_after_s=failure.retry_after_s
            ) from None
        matrix = np.zeros((len(listed), self.dim or 0))
        for target, row in zip(matrix, rows, strict=True):
            if row is not None:
                target[:] = row
        return check_vectors(matrix, len(listed), self.dim)[0] if self.dim else matrix.astype(np.float32)

    def close(self) -> None:
        """Close the connections. The next `embed` opens new ones."""
        raise NotImplementedError

    def _batch(self, texts: list[str], query: bool) -> list[NDArray[np.float64] | None]:
        """One usable row or None per text."""
        model = self._query_model if query else self.name
        try:
            return http.retrying(
                lambda: self._checked(texts, model), retries=max(self._retries, int(query)), waiting=query
            )
        except Failure as failure:
            if not failure.about_content or len(texts) == 1:
                raise
            whole = failure
        rows: list[NDArray[np.float64] | None] = []
        for text in texts:
            try:
                rows += self._checked([text], model)
            except Failure as failure:
                if not failure.about_content:
                    raise
                rows.append(None)
            if len(rows) >= _GIVE_UP_AFTER and all(row is None for row in rows):
                raise whole
        return rows

    def _checked(self, texts: list[str], model: str) -> list[NDArray[np.float64] | None]:
        vectors = self._ask(texts, model)
        if len(vectors) != len(texts):
            raise Failure(f"{self._host} answered with {len(vectors)} vectors for {len(texts)} texts", retryable=False)
        return [_usable(vector) for vector in vectors]

    def _ask(self, texts: list[str], model: str) -> list[object]:
        """One request: a vector, as the service wrote it, for each text in order. Raises Failure."""
        raise NotImplementedError

    def _learn(self, rows: list[NDArray[np.float64] | None], *, asked: bool) -> None:
        """Hold every vector against the dimension of the space, which the first usable one sets."""
        widths = {row.size for row in rows if row is not None}
        if asked and not widths:
            raise Failure(f"{self._host} gave no usable vector (zeros, NaN, infinity or nothing)", retryable=False)
        with self._lock:
            expected = self.dim if self.dim is not None else min(widths, default=None)
            if expected is not None and widths - {expected}:
                found = ", ".join(map(str, sorted(widths)))
                raise Failure(f"{self._host} answered with {found} dimensions, expected {expected}", retryable=False)
            self.dim = expected


def _usable(vector: object) -> NDArray[np.float64] | None:
    """The vector as numbers; None if it is no list or base64 of finite numbers, or has no length."""
    import numpy as np

    row: NDArray[np.float64]
    if isinstance(vector, str):
        try:
            raw = base64.b64decode(vector, validate=True)
        except (binascii.Error, ValueError):
            return None
        if len(raw) % 4:
            return None
        with np.errstate(invalid="ignore"):
            row = np.frombuffer(raw, dtype="<f4").astype(np.float64)
    elif isinstance(vector, list) and all(type(number) in (float, int) for number in vector):
        try:
            row = np.array(vector, dtype=np.float64)
        except OverflowError:  # an integer of more than 308 digits
            return None
    else:
        return None
    if not 1 <= row.size <= _LARGEST_DIM or not check_vectors(row[None, :], 1, None)[1][0]:
        return None
    return row

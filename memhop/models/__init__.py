"""Asking models for something, and doing without them. Imports `common` only, and no client before its first use.

    embed          what an embedder promises, how answers are checked, cutting long text, HashEmbedder (no model)
    embed_local    static vectors out of an installed wheel, offline; token ids for late interaction
    embed_onnx     a transformer in a folder of files, offline; vectors of tokens where they stand
    install        putting such a folder together, when asked
    embed_http     Ollama and OpenAI-compatible services
    embed_remote   what those two share: batches, retries, distrust of every reply
    chat           what a chat model promises
    chat_openai    anything that speaks OpenAI's API
    chat_ollama    Ollama's own
    chat_remote    what those two share: redaction, retries, falling back, distrust of every reply
    metered        counting what chat takes, and holding it within a budget
    structured     a question whose answer has a shape: the schema out, the object in, nothing guessed
    connections    the ways there: JSON over httpx, the openai client
    http           one bounded exchange: time, bytes, tries, and reasons without secrets
    material       what the text tasks read and give: types
    tasks          the text tasks with a model
    offline        the text tasks without one: keywords, consolidate, distill, crystallize, each in a module of its own
    fence, guard   what a model is shown as data; whether a sentence of its own can be believed
    cohesion       which neighbouring blocks of a conversation speak of the same thing
    extract        a few sentences that stand for many
    words          words of a text, casefolded, stemmed
    lexicon_mood, lexicon_traits    words of feeling and of self-description (data)
    stop_words     words without meaning of their own (data)

A reply of a model is untrusted input. A service that fails raises a ProviderError, never anything else, and a
missing optional package raises ConfigError when the embedder is set up rather than when it is needed.
"""

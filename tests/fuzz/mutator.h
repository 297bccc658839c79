// Damages files by their structure: lengths, counts, offsets, types, texts, nesting, order, doubled and missing parts, ends.
#pragma once

#include <cstdint>
#include <string>

namespace skipstone::fuzz {

/// What a file is, hence where it can be hurt.
enum class Kind { gguf, safetensors, sentencepiece, json, json_lines, words };

/// A damaged copy of `bytes`; the same for the same seed on every machine. It may happen to be sound.
std::string mutate(Kind kind, const std::string& bytes, std::uint64_t seed);

}  // namespace skipstone::fuzz

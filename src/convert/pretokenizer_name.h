// Recognises which of GGUF's pre-tokenizers (tokenizer.ggml.pre) a tokenizer.json describes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "json/json_fwd.h"

namespace skipstone::convert {

/// `pre_tokenizer`: that member of tokenizer.json; `ignore_merges`: its model's. Recognised by its effect, step by step, against the
/// table of text/pretokenizer.h; never guessed. Of names that mean the same, `preferred` if it is one of
/// them, otherwise the table's first. `merging_gives_all`: whether merging gives every token, so that it does not matter whether
/// words that are tokens are taken whole. Throws unsupported with the steps for one that is not known, or not byte-level; bad_file for
/// an invalid one.
std::string pretokenizer_name(const SortedJson& pre_tokenizer, bool ignore_merges, const std::function<bool()>& merging_gives_all,
                              std::string_view preferred, const std::string& path);

}  // namespace skipstone::convert

// SentencePiece BPE as a tokenizer.json: pieces with U+2581 for spaces, merges in place of scores, bytes for missing characters.
#pragma once

#include <string>
#include <vector>

#include "convert/merge_order.h"
#include "convert/source_tokenizer.h"
#include "json/json_fwd.h"

namespace skipstone::convert {

/// Whether `file`, a tokenizer.json, is of that kind: BPE with byte fallback, and no step that cuts texts or turns them into bytes before
/// merging.
bool is_converted_sentencepiece(const SortedJson& file);

/// Makes `source`, whose tokens are the vocabulary's, a "llama" tokenizer: types, the space prefix, and scores that merge in the order of
/// `merges` (all of whose tokens are in the vocabulary). Throws unsupported where no scores can do that.
void read_converted_sentencepiece(const SortedJson& file, const std::vector<MergePair>& merges, SourceTokenizer& source);

}  // namespace skipstone::convert

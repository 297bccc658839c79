#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "convert/json_file.h"
#include "convert/tokenizer.h"
#include "json/json.h"
#include "text/utf8.h"

namespace skipstone::convert {
namespace {

using text::TokenType;

std::uint64_t id_of(const SortedJson& value, const std::string& text, const std::string& path) {
  if (!value.is_number_unsigned()) {
    fail(Code::bad_file, "{}: the id of {} is not a whole number from 0 on", path, quote(text));
  }
  return value.get<std::uint64_t>();
}

void check_model(const SortedJson& model, const std::string& path) {
  if (!model.is_object()) fail(Code::bad_file, "{}: has no tokenizer model (\"model\" is missing)", path);
  // Files as old as GPT-2's do not name the type.
  const std::string type = string_member(model, "type").value_or(member(model, "merges").is_array() ? "BPE" : "");
  if (type != "BPE") fail(Code::unsupported, "{}: is a tokenizer of type {}; only BPE can be converted", path, quote(type));
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const std::string affix = string_member(model, key).value_or("");
    if (!affix.empty())
      fail(Code::unsupported, "{}: marks the parts of words with {} ({}), which GGUF cannot say", path, quote(affix), key);
  }
  if (!member(model, "vocab").is_object()) fail(Code::bad_file, "{}: has no vocabulary (\"vocab\" is missing or no object)", path);
  if (!member(model, "merges").is_array()) fail(Code::bad_file, "{}: has no merges (\"merges\" is missing or no array)", path);
}

void add_vocabulary(const SortedJson& vocabulary, TokenList& tokens) {
  for (const auto& [text, id] : vocabulary.items()) tokens.add(id_of(id, text, tokens.path()), text, TokenType::normal);
}

void add_added_tokens(const SortedJson& added, TokenList& tokens) {
  if (added.is_null()) return;
  if (!added.is_array()) fail(Code::bad_file, "{}: \"added_tokens\" is no array", tokens.path());
  for (const SortedJson& token : added) {
    const auto content = string_member(token, "content");
    if (!content) fail(Code::bad_file, "{}: an added token has no content", tokens.path());
    tokens.add_extra(id_of(member(token, "id"), *content, tokens.path()), *content, boolean_member(token, "special").value_or(false),
                     token_flags(token));
  }
}

/// "left right", or since 2024 ["left", "right"].
MergePair merge_of(const SortedJson& merge, std::size_t rank, const std::string& path) {
  if (merge.is_string()) {
    const auto& written = merge.get_ref<const std::string&>();
    const std::size_t space = written.find(' ');
    if (space == 0 || space == std::string::npos || space + 1 == written.size() || written.find(' ', space + 1) != std::string::npos) {
      fail(Code::bad_file, "{}: merge {}, {}, is not two tokens with a space between", path, rank, quote(written));
    }
    return {written.substr(0, space), written.substr(space + 1)};
  }
  if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) {
    fail(Code::bad_file, "{}: merge {} is not a pair of tokens", path, rank);
  }
  MergePair pair{merge[0].get<std::string>(), merge[1].get<std::string>()};
  if (pair.left.find(' ') != std::string::npos || pair.right.find(' ') != std::string::npos) {
    fail(Code::unsupported, "{}: merge {} has a space in {}, which GGUF cannot say", path, rank,
         quote(pair.left.find(' ') != std::string::npos ? pair.left : pair.right));
  }
  return pair;
}

std::vector<MergePair> read_merges(const SortedJson& merges, const TokenList& tokens) {
  std::vector<MergePair> pairs;
  pairs.reserve(merges.size());
  for (const SortedJson& merge : merges) {
    pairs.push_back(merge_of(merge, pairs.size(), tokens.path()));
    const MergePair& pair = pairs.back();
    for (const std::string& text : {pair.left, pair.right, pair.left + pair.right}) {
      if (tokens.find(text) >= 0) continue;
      fail(Code::bad_file, "{}: merge {} ({} and {}) needs the token {}, which the vocabulary lacks", tokens.path(), pairs.size() - 1,
           quote(pair.left), quote(pair.right), quote(text));
    }
  }
  return pairs;
}

/// GGUF's byte-level tokenizer takes a text as it is.
void check_normalizer(const SortedJson& normalizer, const std::string& path, int depth = 0) {
  constexpr int deepest = 4;
  if (normalizer.is_null()) return;
  const std::string type = string_member(normalizer, "type").value_or("");
  if (type == "NFC") {
    log::warning(
        "{}: composes accented letters first (Unicode NFC), which GGUF's gpt2 tokenizer does not; texts with letters in decomposed form "
        "will be cut into other tokens.",
        path);
    return;
  }
  const SortedJson& parts = member(normalizer, "normalizers");
  if (type != "Sequence" || !parts.is_array() || depth == deepest) {
    fail(Code::unsupported, "{}: normalises texts with {}, which GGUF's gpt2 tokenizer cannot", path, quote(type));
  }
  for (const SortedJson& part : parts) check_normalizer(part, path, depth + 1);
}

/// The tokens that a TemplateProcessing puts around a single text.
void read_template(const SortedJson& single, SourceTokenizer& source) {
  const std::string& path = source.tokens.path();
  if (!single.is_array()) fail(Code::bad_file, "{}: the post-processor's template is no array", path);
  bool text_seen = false;
  for (const SortedJson& part : single) {
    const auto token = string_member(member(part, "SpecialToken"), "id");
    if (!token) {
      text_seen = true;
      continue;
    }
    std::optional<std::string>& place = text_seen ? source.text_end : source.text_begin;
    if (place) {
      fail(Code::unsupported, "{}: puts more than one token {} each text ({} and {}), which GGUF cannot say", path,
           text_seen ? "after" : "before", quote(*place), quote(*token));
    }
    place = *token;
  }
  source.add_bos = source.text_begin.has_value();
  if (source.text_end) source.add_eos = true;
}

void read_post_processor(const SortedJson& processor, SourceTokenizer& source, int depth = 0) {
  constexpr int deepest = 4;
  const std::string type = string_member(processor, "type").value_or("");
  if (processor.is_null() || type == "ByteLevel") return;  // ByteLevel only moves offsets
  if (type == "TemplateProcessing") return read_template(member(processor, "single"), source);
  const SortedJson& parts = member(processor, "processors");
  if (type != "Sequence" || !parts.is_array() || depth == deepest) {
    fail(Code::unsupported, "{}: has a post-processor {}, which GGUF cannot say", source.tokens.path(), quote(type));
  }
  for (const SortedJson& part : parts) read_post_processor(part, source, depth + 1);
}

bool merging_gives_all(const std::vector<MergePair>& merges, const TokenList& tokens) {
  const MergeOrder order(merges, tokens);
  for (std::size_t i = 0; i < tokens.texts.size(); ++i) {
    const std::string& text = tokens.texts[i];
    if (tokens.types[i] != TokenType::normal || text.empty() || text::utf8_front(text).size == text.size()) continue;
    const MergeOrder::Way way = order.way(text);
    if (way.cut == 0 || way.rank == MergeOrder::Way::none) return false;
  }
  return true;
}

void read_byte_level(const SortedJson& file, const std::vector<MergePair>& merges, const model::TokenizerFacts& facts,
                     const std::string& pre, SourceTokenizer& source) {
  const std::string& path = source.tokens.path();
  check_normalizer(member(file, "normalizer"), path);
  source.model = "gpt2";
  source.pre = pre;
  if (pre.empty()) {
    const bool ignore_merges = boolean_member(member(file, "model"), "ignore_merges").value_or(false);
    const auto gives_all = [&] { return merging_gives_all(merges, source.tokens); };
    source.pre = pretokenizer_name(member(file, "pre_tokenizer"), ignore_merges, gives_all, facts.pre, path);
  }
  source.merges.reserve(merges.size());
  for (const MergePair& pair : merges) source.merges.push_back(pair.left + ' ' + pair.right);
}

}  // namespace

SourceTokenizer read_tokenizer_json(const std::string& path, std::uint32_t rows, const model::TokenizerFacts& facts,
                                    const std::string& pre) {
  const SortedJson file = read_json_object(path);
  const SortedJson& model = member(file, "model");
  check_model(model, path);
  SourceTokenizer source(path, rows);
  add_vocabulary(member(model, "vocab"), source.tokens);
  const std::vector<MergePair> merges = read_merges(member(model, "merges"), source.tokens);
  if (is_converted_sentencepiece(file)) {
    read_converted_sentencepiece(file, merges, source);
  } else {
    read_byte_level(file, merges, facts, pre, source);
  }
  add_added_tokens(member(file, "added_tokens"), source.tokens);
  read_post_processor(member(file, "post_processor"), source);
  return source;
}

}  // namespace skipstone::convert

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "convert/json_file.h"
#include "convert/tokenizer.h"
#include "json/json.h"
#include "text/pair_merge.h"
#include "text/segmenter.h"
#include "text/utf8.h"

namespace skipstone::convert {
namespace {

using text::Token;
using text::TokenType;

const std::string space_mark(text::visible_space);

bool is_space_replacement(const SortedJson& normalizer) {
  return string_member(normalizer, "type") == "Replace" && string_member(member(normalizer, "pattern"), "String") == " " &&
         string_member(normalizer, "content") == space_mark;
}

/// Whether the normalizer puts a space in front of each text; unsupported where it does anything but that and writing U+2581.
bool prefix_of_normalizer(const SortedJson& normalizer, const std::string& path) {
  SortedJson parts = SortedJson::array({normalizer});
  if (string_member(normalizer, "type") == "Sequence") parts = member(normalizer, "normalizers");
  bool prefix = false;
  bool replaced = false;
  for (const SortedJson& part : parts) {
    const bool prepends = string_member(part, "type") == "Prepend" && string_member(part, "prepend") == space_mark;
    if (prepends && !replaced) {
      prefix = true;
    } else if (is_space_replacement(part)) {
      replaced = true;
    } else {
      fail(Code::unsupported, "{}: normalises texts with {}, which GGUF's llama tokenizer cannot", path,
           quote(string_member(part, "type").value_or("")));
    }
  }
  if (!replaced) fail(Code::unsupported, "{}: does not write spaces as U+2581, which GGUF's llama tokenizer always does", path);
  return prefix;
}

/// The same for the pre-tokenizer that newer files have in place of the normalizer.
bool prefix_of_metaspace(const SortedJson& metaspace, const std::string& path) {
  if (boolean_member(metaspace, "split").value_or(true) || string_member(metaspace, "replacement") != space_mark) {
    fail(Code::unsupported, "{}: has a Metaspace pre-tokenizer that cuts at spaces, which GGUF's llama tokenizer does not", path);
  }
  const bool by_default = boolean_member(metaspace, "add_prefix_space").value_or(true);
  const std::string scheme = string_member(metaspace, "prepend_scheme").value_or(by_default ? "always" : "never");
  if (scheme == "never") return false;
  log::warning(
      "{}: puts no space in front of a text that starts with one, GGUF's llama tokenizer does; such texts will be cut into other tokens.",
      path);
  return true;
}

bool is_normal(const TokenList& tokens, const std::string& text) {
  const Token token = tokens.find(text);
  return token >= 0 && tokens.types[static_cast<std::size_t>(token)] == TokenType::normal;
}

/// GGUF's llama tokenizer joins any two tokens whose text is a token, the one with the best score first. Of the pairs that make a token
/// only one ever occurs in a text (MergeOrder::Way), so that one's place among the merges is the token's; other pairs, in the list or not,
/// do not matter. Files have many of these: where pieces were given to SentencePiece (runs of spaces), they are in no useful order.
void set_scores(const std::vector<MergePair>& merges, TokenList& tokens) {
  const MergeOrder order(merges, tokens);
  std::vector<std::pair<std::size_t, std::size_t>> ranked;  // rank, token; a token that no merge makes comes last
  for (std::size_t i = 0; i < tokens.texts.size(); ++i) {
    if (tokens.types[i] != TokenType::normal) continue;
    const std::string& text = tokens.texts[i];
    const MergeOrder::Way way = order.way(text);
    const std::string left = text.substr(0, way.cut), right = text.substr(way.cut);
    if (way.cut > 0 && way.rank == MergeOrder::Way::none && is_normal(tokens, left) && is_normal(tokens, right)) {
      fail(Code::unsupported,
           "{}: its merges do not join {} and {}, which do stand side by side, although {} is a token; it was not made from SentencePiece",
           tokens.path(), quote(left), quote(right), quote(text));
    }
    ranked.emplace_back(way.rank, i);
  }
  std::sort(ranked.begin(), ranked.end());
  float next = 0;
  for (const auto& [rank, token] : ranked) tokens.scores[token] = next--;
}

/// A cut at spaces after all spaces have become U+2581, which Gemma's files have, does nothing.
bool cuts_nothing(const SortedJson& pre_tokenizer) {
  return string_member(pre_tokenizer, "type") == "Split" && string_member(member(pre_tokenizer, "pattern"), "String") == " ";
}

}  // namespace

bool is_converted_sentencepiece(const SortedJson& file) {
  const SortedJson& pre_tokenizer = member(file, "pre_tokenizer");
  return boolean_member(member(file, "model"), "byte_fallback").value_or(false) &&
         (pre_tokenizer.is_null() || cuts_nothing(pre_tokenizer) || string_member(pre_tokenizer, "type") == "Metaspace");
}

void read_converted_sentencepiece(const SortedJson& file, const std::vector<MergePair>& merges, SourceTokenizer& source) {
  TokenList& tokens = source.tokens;
  const SortedJson& pre_tokenizer = member(file, "pre_tokenizer");
  if (pre_tokenizer.is_null() || cuts_nothing(pre_tokenizer)) {
    source.add_space_prefix = prefix_of_normalizer(member(file, "normalizer"), tokens.path());
  } else {
    const SortedJson& normalizer = member(file, "normalizer");
    const bool no_normalizer =
        normalizer.is_null() || (member(normalizer, "normalizers").is_array() && member(normalizer, "normalizers").empty());
    if (!no_normalizer)
      fail(Code::unsupported, "{}: has a normalizer as well as a Metaspace pre-tokenizer; only one of them works", tokens.path());
    source.add_space_prefix = prefix_of_metaspace(pre_tokenizer, tokens.path());
  }
  source.model = "llama";
  source.pre = "default";
  // Added tokens are found before merging, so no merge has to lead to them.
  for (const SortedJson& added : member(file, "added_tokens")) {
    const Token token = tokens.find(string_member(added, "content").value_or(""));
    if (token >= 0) tokens.types[static_cast<std::size_t>(token)] = TokenType::control;
  }
  const auto unknown = string_member(member(file, "model"), "unk_token");
  if (unknown) source.unknown = tokens.find(*unknown);
  if (source.unknown >= 0) tokens.types[static_cast<std::size_t>(source.unknown)] = TokenType::unknown;
  for (std::size_t i = 0; i < tokens.texts.size(); ++i) {
    if (tokens.types[i] == TokenType::normal && text::byte_of(tokens.texts[i]) >= 0) tokens.types[i] = TokenType::byte;
  }
  set_scores(merges, tokens);
}

namespace {

using text::Symbol;
using text::Token;

std::uint64_t key_of(std::uint32_t left, std::uint32_t right) { return (std::uint64_t{left} << 32) | right; }

}  // namespace

MergeOrder::MergeOrder(const std::vector<MergePair>& merges, const TokenList& tokens) : tokens_(tokens), merges_(merges) {
  ranks_.reserve(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const Token left = tokens.find(merges[rank].left), right = tokens.find(merges[rank].right);
    ranks_.emplace(key_of(static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right)), rank);
  }
}

MergeOrder::Way MergeOrder::way(std::string_view text) const {
  std::vector<Symbol> symbols;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = text::utf8_front(text.substr(at)).size;
    // A character that is no token becomes -1, which no merge has.
    symbols.push_back({at, size, static_cast<std::uint32_t>(tokens_.find(std::string(text.substr(at, size)))), -1, -1});
    at += size;
  }
  Way way;
  text::merge_pairs(symbols, [&](const Symbol& left, const Symbol& right, text::Merge& merge) {
    const auto found = ranks_.find(key_of(left.id, right.id));
    if (left.size + right.size == text.size()) {
      way.cut = left.size;
      way.rank = found == ranks_.end() ? Way::none : found->second;
    }
    if (found == ranks_.end()) return false;
    const MergePair& pair = merges_[found->second];
    merge.id = static_cast<std::uint32_t>(tokens_.find(pair.left + pair.right));
    merge.cost = static_cast<double>(found->second);
    return true;
  });
  return way;
}

}  // namespace skipstone::convert

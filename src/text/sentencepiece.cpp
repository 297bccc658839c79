#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>

#include "base/poll.h"
#include "base/status.h"
#include "text/pair_merge.h"
#include "text/segmenter.h"
#include "text/utf8.h"

namespace skipstone::text {
namespace {

constexpr std::uint32_t no_token = UINT32_MAX;  // a symbol that is no token by itself

// Spaces to U+2581. A U+2581 in the text itself becomes a space when decoded; SentencePiece does the same.
std::string escape_spaces(std::string_view text, bool with_prefix) {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 4 + visible_space.size());
  if (with_prefix) escaped += visible_space;
  for (const char c : text) {
    if (c == ' ') {
      escaped += visible_space;
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

std::string unescape_spaces(std::string_view escaped) {
  std::string text;
  text.reserve(escaped.size());
  for (std::size_t at = 0; at < escaped.size();) {
    const std::size_t mark = std::min(escaped.find(visible_space, at), escaped.size());
    text.append(escaped.substr(at, mark - at));
    if (mark < escaped.size()) text.push_back(' ');
    at = mark + visible_space.size();
  }
  return text;
}

class SentencePiece final : public Segmenter {
 public:
  explicit SentencePiece(const Vocabulary& vocabulary) : vocabulary_(vocabulary), ranked_(vocabulary.model == "gemma4") {
    bytes_.fill(-1);
    ids_.reserve(vocabulary.tokens.size());
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      const auto token = static_cast<Token>(i);
      const std::string& written = vocabulary.tokens[i];
      const TokenType type = type_of(vocabulary, token);
      if (type == TokenType::byte) {
        const int byte = byte_of(written);
        if (byte >= 0) bytes_[static_cast<std::size_t>(byte)] = token;
        continue;
      }
      // Spelling must not arrive at a control token: a text that says "</s>" does not end the text.
      if (type == TokenType::control || type == TokenType::unknown || written.empty()) continue;
      longest_ = std::max(longest_, written.size());
      ids_.emplace(written, static_cast<std::uint32_t>(i));
    }
    if (ranked_) add_merges();
  }

  void append(std::string_view text, bool starts_text, std::vector<Token>& out) const override {
    if (text.empty()) return;
    const std::string escaped = escape_spaces(text, starts_text && vocabulary_.add_space_prefix);
    std::vector<Symbol> symbols = characters_of(escaped);
    merge_pairs(symbols, [&](const Symbol& left, const Symbol& right, Merge& merge) {
      if (ranked_) return find_merge(left, right, merge);
      const std::size_t size = left.size + right.size;
      if (size > longest_) return false;
      merge.id = find(std::string_view(escaped).substr(left.begin, size));
      if (merge.id == no_token) return false;
      merge.cost = -static_cast<double>(vocabulary_.scores[merge.id]);
      return true;
    });
    Poll* const asking = Poll::current();
    for (const Symbol& symbol : symbols) {
      if (symbol.size == 0) continue;
      if (asking != nullptr) asking->work(1);
      if (symbol.id != no_token) {
        out.push_back(static_cast<Token>(symbol.id));
      } else {
        spell_out(std::string_view(escaped).substr(symbol.begin, symbol.size), out);
      }
    }
  }

  std::string spell(Token token) const override {
    const std::string& written = vocabulary_.tokens[static_cast<std::size_t>(token)];
    if (type_of(vocabulary_, token) == TokenType::byte) {
      const int byte = byte_of(written);
      if (byte >= 0) return std::string(1, static_cast<char>(static_cast<unsigned char>(byte)));
    }
    return unescape_spaces(written);
  }

 private:
  void add_merges() {
    merges_.reserve(vocabulary_.merges.size());
    for (std::size_t rank = 0; rank < vocabulary_.merges.size(); ++rank) {
      const auto [left, right] = symbols_of(vocabulary_.merges[rank], rank);
      const std::uint32_t left_id = find(left), right_id = find(right), joined = find(std::string(left) + std::string(right));
      if (left_id == no_token || right_id == no_token || joined == no_token) {
        fail(Code::bad_file, "Merge {} of the vocabulary, \"{}\", has a part that is no token.", rank, vocabulary_.merges[rank]);
      }
      merges_.emplace(pair_key(left_id, right_id), Merge{static_cast<double>(rank), joined});
    }
  }

  bool find_merge(const Symbol& left, const Symbol& right, Merge& merge) const {
    if (left.id == no_token || right.id == no_token) return false;
    const auto found = merges_.find(pair_key(left.id, right.id));
    if (found == merges_.end()) return false;
    merge = found->second;
    return true;
  }

  std::uint32_t find(std::string_view piece) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? no_token : found->second;
  }

  std::vector<Symbol> characters_of(std::string_view escaped) const {
    std::vector<Symbol> symbols;
    symbols.reserve(escaped.size());
    Poll* const asking = Poll::current();
    for (std::size_t at = 0; at < escaped.size();) {
      if (asking != nullptr) asking->work(1);
      const std::size_t size = utf8_front(escaped.substr(at)).size;
      symbols.push_back({at, size, find(escaped.substr(at, size)), -1, -1});
      at += size;
    }
    return symbols;
  }

  // A character the vocabulary lacks: its bytes. A space is spelled as the byte 0x20, so that it comes back as one.
  void spell_out(std::string_view character, std::vector<Token>& out) const {
    if (character == visible_space) character = " ";
    for (const char c : character) {
      const auto byte = static_cast<unsigned char>(c);
      const Token token = bytes_[byte];
      if (token >= 0) {
        out.push_back(token);
        continue;
      }
      out.push_back(unknown_for(vocabulary_, byte));
      return;  // one unknown per character, not per byte
    }
  }

  const Vocabulary& vocabulary_;
  bool ranked_;                                              // pairs are joined by the ranks of merges, not by scores
  std::unordered_map<std::uint64_t, Merge> merges_;          // by pair_key
  std::unordered_map<std::string_view, std::uint32_t> ids_;  // views into the vocabulary
  std::array<Token, 256> bytes_{};
  std::size_t longest_ = 0;
};

}  // namespace

std::unique_ptr<Segmenter> make_sentencepiece(const Vocabulary& vocabulary) { return std::make_unique<SentencePiece>(vocabulary); }

}  // namespace skipstone::text

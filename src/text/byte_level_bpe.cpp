#include <array>
#include <cstdint>
#include <unordered_map>

#include "base/poll.h"
#include "base/status.h"
#include "text/pair_merge.h"
#include "text/pretokenizer.h"
#include "text/segmenter.h"
#include "text/utf8.h"

namespace skipstone::text {
namespace {

class ByteLevelBpe final : public Segmenter {
 public:
  explicit ByteLevelBpe(const Vocabulary& vocabulary) : vocabulary_(vocabulary), pre_(vocabulary.pre) {
    symbols_.reserve(vocabulary.tokens.size() + 256);
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      const TokenType type = type_of(vocabulary, static_cast<Token>(i));
      // Only these are written in the byte-level alphabet; added tokens are literal text and are found before merging.
      if (type != TokenType::normal && type != TokenType::unused) continue;
      bool pure = false;
      std::string bytes = from_byte_level(vocabulary.tokens[i], &pure);
      if (pure && !bytes.empty()) symbols_.emplace(std::move(bytes), static_cast<std::uint32_t>(i));
    }
    next_symbol_ = static_cast<std::uint32_t>(vocabulary.tokens.size());
    for (unsigned b = 0; b < 256; ++b) byte_symbols_[b] = symbol(std::string(1, static_cast<char>(static_cast<unsigned char>(b))));
    add_merges();
  }

  void append(std::string_view text, bool /*starts_text*/, std::vector<Token>& out) const override {
    std::vector<Symbol> row;
    Poll* const asking = Poll::current();
    for (const std::string_view word : pre_.split(text)) {
      if (asking != nullptr) asking->work(1);
      if (word.size() == 1 || pre_.takes_whole_words()) {
        const auto whole = symbols_.find(std::string(word));
        if (whole != symbols_.end() && is_token(whole->second)) {
          out.push_back(static_cast<Token>(whole->second));
          continue;
        }
      }
      row.clear();
      if (word.size() > 4096) row.reserve(word.size());
      for (std::size_t i = 0; i < word.size(); ++i) {
        if (asking != nullptr && i % 1024 == 1023) asking->work(512);
        row.push_back({i, 1, byte_symbols_[static_cast<unsigned char>(word[i])], -1, -1});
      }
      merge_pairs(row, [this](const Symbol& left, const Symbol& right, Merge& merge) {
        const auto found = merges_.find(pair_key(left.id, right.id));
        if (found == merges_.end()) return false;
        merge = found->second;
        return true;
      });
      for (const Symbol& s : row) emit(s, word, out);
    }
  }

  std::string spell(Token token) const override { return from_byte_level(vocabulary_.tokens[static_cast<std::size_t>(token)]); }

 private:
  bool is_token(std::uint32_t symbol) const { return symbol < vocabulary_.tokens.size(); }

  // The symbol of `bytes`: its token, or a number above all tokens for an intermediate result of merging.
  std::uint32_t symbol(std::string bytes) {
    const auto [at, fresh] = symbols_.emplace(std::move(bytes), next_symbol_);
    if (fresh) ++next_symbol_;
    return at->second;
  }

  void add_merges() {
    merges_.reserve(vocabulary_.merges.size());
    for (std::size_t rank = 0; rank < vocabulary_.merges.size(); ++rank) {
      const auto [written_left, written_right] = symbols_of(vocabulary_.merges[rank], rank);
      const std::string left = from_byte_level(written_left), right = from_byte_level(written_right);
      const std::uint32_t left_symbol = symbol(left);
      const std::uint32_t right_symbol = symbol(right);
      merges_.emplace(pair_key(left_symbol, right_symbol), Merge{static_cast<double>(rank), symbol(left + right)});
    }
  }

  void emit(const Symbol& s, std::string_view word, std::vector<Token>& out) const {
    if (s.size == 0) return;
    if (is_token(s.id)) {
      out.push_back(static_cast<Token>(s.id));
      return;
    }
    for (const char c : word.substr(s.begin, s.size)) {  // a symbol without a token is spelled byte by byte
      const auto byte = static_cast<unsigned char>(c);
      out.push_back(is_token(byte_symbols_[byte]) ? static_cast<Token>(byte_symbols_[byte]) : unknown_for(vocabulary_, byte));
    }
  }

  const Vocabulary& vocabulary_;
  PreTokenizer pre_;
  std::unordered_map<std::string, std::uint32_t> symbols_;  // by bytes, not by the byte-level spelling
  std::array<std::uint32_t, 256> byte_symbols_{};
  std::unordered_map<std::uint64_t, Merge> merges_;
  std::uint32_t next_symbol_ = 0;
};

}  // namespace

std::unique_ptr<Segmenter> make_byte_level_bpe(const Vocabulary& vocabulary) { return std::make_unique<ByteLevelBpe>(vocabulary); }

}  // namespace skipstone::text

#include "text/tokenizer.h"

#include <algorithm>

#include "base/poll.h"
#include "base/status.h"
#include "text/segmenter.h"
#include "text/special_tokens.h"
#include "text/utf8.h"

namespace skipstone::text {

int byte_of(std::string_view written) {
  if (written.size() != 6 || written.substr(0, 3) != "<0x" || written[5] != '>') return -1;
  int value = 0;
  for (const char c : written.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9';
    const bool upper = c >= 'A' && c <= 'F';
    const bool lower = c >= 'a' && c <= 'f';
    if (!digit && !upper && !lower) return -1;
    value = value * 16 + (digit ? c - '0' : upper ? c - 'A' + 10 : c - 'a' + 10);
  }
  return value;
}

bool may_have_space_put_in(const Vocabulary& vocabulary, Token first) {
  return vocabulary.model == "llama" && vocabulary.add_space_prefix && type_of(vocabulary, first) != TokenType::user_defined;
}

Token unknown_for(const Vocabulary& vocabulary, unsigned char byte) {
  if (vocabulary.unknown < 0) {
    fail(Code::invalid_argument,
         "The vocabulary has no token for the byte 0x{:02X} and no unknown token; this text cannot be encoded with it.",
         static_cast<unsigned>(byte));
  }
  return vocabulary.unknown;
}

struct Tokenizer::Impl {
  Vocabulary vocabulary;
  std::unique_ptr<Segmenter> segmenter;
  SpecialTokens user_defined;  // found in every text
  SpecialTokens all;           // found where the caller asks for it; normal markers only where it reserves them
  std::vector<std::string> pieces;

  explicit Impl(Vocabulary given) : vocabulary(std::move(given)) {
    check_vocabulary(vocabulary, Code::invalid_argument);
    segmenter = vocabulary.model == "gpt2" ? make_byte_level_bpe(vocabulary) : make_sentencepiece(vocabulary);
    pieces.reserve(vocabulary.tokens.size());
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) add_token(static_cast<Token>(i));
    // Markers that the file calls normal come last: they never hide another token of the same text.
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      const auto token = static_cast<Token>(i);
      if (type_of(vocabulary, token) == TokenType::normal && is_marker(vocabulary.tokens[i])) all.add(vocabulary.tokens[i], token);
    }
  }

  void add_token(Token token) {
    const std::string& written = vocabulary.tokens[static_cast<std::size_t>(token)];
    const TokenType type = type_of(vocabulary, token);
    const bool silent = type == TokenType::control || type == TokenType::unknown;
    const bool added = type == TokenType::user_defined;
    if (added) user_defined.add(written, token);
    if (added || silent) all.add(written, token);
    // Added tokens of byte-level vocabularies are written as they are, not in the byte-level alphabet.
    const bool literal = added && vocabulary.model == "gpt2";
    pieces.push_back(silent ? std::string() : literal ? written : segmenter->spell(token));
  }
};

namespace {

const TokenFlags& flags_of(const Vocabulary& vocabulary, Token token) {
  static const TokenFlags none;
  if (vocabulary.flags.empty()) return none;
  const auto found = vocabulary.flags.find(token);
  return found == vocabulary.flags.end() ? none : found->second;
}

/// The first of `tokens` in `text` from `from` on that `accept` and its flags allow, with the white space that it takes.
template <typename Accept>
SpecialTokens::Match find_added(const Vocabulary& vocabulary, const SpecialTokens& tokens, std::string_view text, std::size_t from,
                                Accept&& accept) {
  SpecialTokens::Match match = tokens.find(text, from, [&](const SpecialTokens::Match& found) {
    return accept(found) && may_stand(flags_of(vocabulary, found.token), text, found.begin, found.begin + found.size);
  });
  if (match.token < 0) return match;
  const auto [begin, end] = with_spaces_taken(flags_of(vocabulary, match.token), text, from, match.begin, match.begin + match.size);
  return {begin, end - begin, match.token};
}

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary) : impl_(std::make_unique<Impl>(std::move(vocabulary))) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;

const Vocabulary& Tokenizer::vocabulary() const { return impl_->vocabulary; }

std::size_t Tokenizer::size() const { return impl_->vocabulary.tokens.size(); }

namespace {

void require_utf8(std::string_view text) {
  const std::size_t wrong = find_invalid_utf8(text);
  if (wrong == std::string_view::npos) return;
  fail(Code::invalid_argument, "The text is not UTF-8: byte {} (0x{:02X}) starts no valid character.", wrong,
       static_cast<unsigned>(static_cast<unsigned char>(text[wrong])));
}

}  // namespace

std::vector<Stretch> Tokenizer::stretches(std::string_view text, std::span<const Span> trusted, std::span<const Token> reserved) const {
  require_utf8(text);
  auto part = trusted.begin();  // the first that does not end before the current position
  const auto accept = [&](const SpecialTokens::Match& match) {
    const TokenType type = type_of(impl_->vocabulary, match.token);
    if (type == TokenType::user_defined || type == TokenType::normal) {
      const bool is_reserved = std::find(reserved.begin(), reserved.end(), match.token) != reserved.end();
      if (!is_reserved) return type == TokenType::user_defined;
    }
    while (part != trusted.end() && part->end <= match.begin) ++part;
    return part != trusted.end() && part->begin <= match.begin && match.begin + match.size <= part->end;
  };
  std::vector<Stretch> all;
  for (std::size_t done = 0; done < text.size();) {
    const SpecialTokens::Match match = find_added(impl_->vocabulary, impl_->all, text, done, accept);
    const std::size_t end = std::min(match.begin, text.size());
    if (end > done) all.push_back({done, end, -1});
    if (match.token >= 0) all.push_back({end, end + match.size, match.token});
    done = end + match.size;
  }
  return all;
}

std::vector<Token> Tokenizer::encode(std::string_view text, std::span<const Span> trusted, std::span<const Token> reserved) const {
  return encode(text, stretches(text, trusted, reserved));
}

std::vector<Token> Tokenizer::encode(std::string_view text, std::span<const Stretch> stretches) const {
  std::vector<Token> tokens;
  bool after_special = true;
  for (const Stretch& stretch : stretches) {
    if (stretch.token >= 0) {
      tokens.push_back(stretch.token);
    } else {
      impl_->segmenter->append(text.substr(stretch.begin, stretch.end - stretch.begin), after_special, tokens);
    }
    after_special = stretch.token >= 0;
  }
  return tokens;
}

std::vector<Token> Tokenizer::encode(std::string_view text, bool add_special, bool parse_special) const {
  require_utf8(text);
  const Vocabulary& v = impl_->vocabulary;
  std::vector<Token> tokens;
  if (add_special && v.add_bos) tokens.push_back(v.bos);
  const SpecialTokens& special = parse_special ? impl_->all : impl_->user_defined;
  bool after_special = true;  // a space goes before the text and after each special token, as SentencePiece encodes each stretch anew
  for (std::size_t done = 0; done < text.size();) {
    const SpecialTokens::Match match = find_added(
        v, special, text, done, [&v](const SpecialTokens::Match& found) { return type_of(v, found.token) != TokenType::normal; });
    const std::size_t end = std::min(match.begin, text.size());
    if (end > done) {
      impl_->segmenter->append(text.substr(done, end - done), after_special, tokens);
      after_special = false;
    }
    if (match.token >= 0) {
      tokens.push_back(match.token);
      after_special = true;
    }
    done = end + match.size;
  }
  if (add_special && v.add_eos) tokens.push_back(v.eos);
  return tokens;
}

std::string Tokenizer::piece(Token token) const {
  if (token < 0 || static_cast<std::size_t>(token) >= size()) {
    fail(Code::invalid_argument, "Token {} is not in the vocabulary, which has {} tokens.", token, size());
  }
  return impl_->pieces[static_cast<std::size_t>(token)];
}

std::string Tokenizer::decode(std::span<const Token> tokens) const {
  std::string text;
  bool at_start = true;
  Poll* const asking = Poll::current();
  for (const Token token : tokens) {
    if (asking != nullptr) asking->work(1);
    const std::string bytes = piece(token);
    if (bytes.empty()) continue;
    const bool drop = at_start && bytes.front() == ' ' && may_have_space_put_in(impl_->vocabulary, token);
    at_start = false;
    text.append(bytes, drop ? 1 : 0);
  }
  return text;
}

bool Tokenizer::ends_generation(Token token) const {
  const std::vector<Token>& ends = impl_->vocabulary.end_of_generation;
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool at_text_start) : tokenizer_(&tokenizer), at_start_(at_text_start) {}

std::string StreamDecoder::push(Token token) {
  const std::string bytes = tokenizer_->piece(token);
  if (bytes.empty()) return {};
  const bool drop = at_start_ && bytes.front() == ' ' && may_have_space_put_in(tokenizer_->vocabulary(), token);
  at_start_ = false;
  pending_.append(bytes, drop ? 1 : 0);

  std::string ready;
  std::size_t done = 0;
  while (done < pending_.size()) {
    const Utf8Front front = utf8_front(std::string_view(pending_).substr(done));
    if (front.kind == Utf8Front::Kind::incomplete) break;
    if (front.kind == Utf8Front::Kind::character) {
      ready.append(pending_, done, front.size);
    } else {
      ready += replacement_character;
    }
    done += front.size;
  }
  pending_.erase(0, done);
  return ready;
}

std::string StreamDecoder::finish() {
  const bool unfinished = !pending_.empty();  // one unfinished character at most, hence one U+FFFD (Unicode 3.9)
  pending_.clear();
  return std::string(unfinished ? replacement_character : std::string_view());
}

}  // namespace skipstone::text

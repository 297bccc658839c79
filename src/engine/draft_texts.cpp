#include "engine/draft_texts.h"

#include <array>
#include <system_error>

#include "base/platform/files.h"
#include "base/poll.h"
#include "base/status.h"
#include "base/stopwatch.h"

namespace skipstone::engine {
namespace {

constexpr std::size_t piece_bytes = 65536;                 ///< of text per tokenizer call
constexpr std::size_t most_bytes = std::size_t{4} << 30U;  ///< size limit of one file

std::string read_text(const std::string& file, const std::string& what) {
  std::error_code error;
  const auto refuse = [&] { fail(Code::invalid_argument, "the {} '{}' cannot be read: {}", what, file, error.message()); };
  const platform::OpenFile stream = platform::open_stream(file, error);
  if (error) refuse();
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const std::size_t got = platform::read_next(stream.handle(), buffer, error);
    if (error == std::errc::interrupted) continue;
    if (error) refuse();
    if (got == 0) return text;
    text.append(buffer.data(), got);
    poll(got / 16);
    if (text.size() > most_bytes) fail(Code::invalid_argument, "the {} '{}' is larger than {} GiB", what, file, most_bytes >> 30U);
  }
}

/// Pieces end at a line end if possible, so that few words are split. A piece's end changes the tokens there, as the start of any text
/// does.
std::size_t piece_end(const std::string& text, std::size_t start) {
  if (text.size() - start <= piece_bytes) return text.size();
  std::size_t end = text.rfind('\n', start + piece_bytes);
  if (end != std::string::npos && end >= start) return end + 1;
  for (end = start + piece_bytes; end > start + 1 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U;) --end;
  return end;
}

}  // namespace

std::vector<text::Token> read_text_tokens(const text::Tokenizer& tokenizer, const std::string& file, const std::string& what,
                                          const Progress& progress) {
  const std::string text = read_text(file, what);
  if (const std::size_t at = text::find_invalid_utf8(text); at != std::string::npos) {
    fail(Code::invalid_argument, "the {} '{}' is no text: byte {} is not UTF-8", what, file, at);
  }
  std::vector<text::Token> tokens;
  for (std::size_t start = 0; start < text.size();) {
    if (progress) progress("reading " + what, static_cast<double>(start) / static_cast<double>(text.size()));
    const std::size_t end = piece_end(text, start);
    const std::vector<text::Token> piece = tokenizer.encode(std::string_view(text).substr(start, end - start), false, false);
    tokens.insert(tokens.end(), piece.begin(), piece.end());
    start = end;
  }
  return tokens;
}

IndexedCorpus index_corpus(const text::Tokenizer& tokenizer, const std::vector<std::string>& files, const Progress& progress) {
  const Stopwatch watch;
  std::vector<text::Token> tokens;
  for (const std::string& file : files) {
    if (!tokens.empty()) tokens.push_back(-1);
    const std::vector<text::Token> more = read_text_tokens(tokenizer, file, "corpus", progress);
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
  const std::size_t count = tokens.size();
  if (count <= files.size()) fail(Code::invalid_argument, "the corpus '{}' has no text in it", files.front());
  if (progress) progress("indexing corpus", 0.0);
  auto index = std::make_shared<const speculation::Corpus>(std::move(tokens));
  const std::uint64_t bytes = index->bytes();
  return {std::move(index), {count, bytes, watch.seconds()}};
}

}  // namespace skipstone::engine

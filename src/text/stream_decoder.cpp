#include "text/segmenter.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace skipstone::text {

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

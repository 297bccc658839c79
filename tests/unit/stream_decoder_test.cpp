#include <gtest/gtest.h>

#include "base/status.h"
#include "text/tokenizer.h"
#include "unit/handmade_vocabulary.h"

namespace skipstone::text {
namespace {

using handmade::id_of;

// Byte-level vocabularies written by hand have byte b as token b.
std::vector<std::string> feed(StreamDecoder& decoder, std::string_view bytes) {
  std::vector<std::string> out;
  for (const char c : bytes) out.push_back(decoder.push(static_cast<unsigned char>(c)));
  return out;
}

using Steps = std::vector<std::string>;

TEST(StreamDecoder, HoldsBackUnfinishedCharacters) {
  const Tokenizer tokenizer(handmade::byte_level("gpt-2"));
  StreamDecoder decoder(tokenizer, false);
  EXPECT_EQ(feed(decoder, "a🚀é→"), (Steps{"a", "", "", "", "🚀", "", "é", "", "", "→"}));
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, EmojiFromSentencePieceBytes) {
  const Vocabulary v = handmade::sentencepiece();
  const Tokenizer tokenizer(v);
  StreamDecoder decoder(tokenizer, false);
  std::string text;
  for (const Token token : handmade::ids_of(v, {"▁hello", "<0xF0>", "<0x9F>", "<0x98>", "<0x81>", "▁"})) {
    text += decoder.push(token);
    EXPECT_EQ(find_invalid_utf8(text), std::string::npos);
  }
  EXPECT_EQ(text, " hello😁 ");
}

TEST(StreamDecoder, ReplacesWhatCanNeverBecomeACharacterAtOnce) {
  const Tokenizer tokenizer(handmade::byte_level("gpt-2"));
  StreamDecoder decoder(tokenizer, false);
  EXPECT_EQ(feed(decoder, "\xFF"), (Steps{"�"}));
  EXPECT_EQ(feed(decoder, "\x80"), (Steps{"�"}));
  EXPECT_EQ(feed(decoder, "\xE2\x82x"), (Steps{"", "", "�x"})) << "one for the beginning that was broken off";
  EXPECT_EQ(feed(decoder, "\xED\xA0"), (Steps{"", "��"})) << "a surrogate is clear with its second byte";
  EXPECT_EQ(feed(decoder, "\xF0\x9F\xC3\xA9"), (Steps{"", "", "�", "é"})) << "what breaks a character off may begin another";
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, UnfinishedAtTheEndIsOneReplacement) {
  const Tokenizer tokenizer(handmade::byte_level("gpt-2"));
  StreamDecoder decoder(tokenizer, false);
  EXPECT_EQ(feed(decoder, "\xF0\x9F\x9A"), (Steps{"", "", ""}));
  EXPECT_EQ(decoder.finish(), "�");
  EXPECT_EQ(decoder.finish(), "") << "finish() leaves nothing behind";
  EXPECT_EQ(feed(decoder, "a"), (Steps{"a"}));
}

TEST(StreamDecoder, TakesOutTheSpaceOnlyAtTheStartOfAText) {
  const Vocabulary v = handmade::sentencepiece();
  const Tokenizer tokenizer(v);
  const Token hello = id_of(v, "▁hello");
  StreamDecoder start(tokenizer, true);
  EXPECT_EQ(start.push(v.bos), "") << "control tokens are silent and do not end the start";
  EXPECT_EQ(start.push(hello), "hello");
  EXPECT_EQ(start.push(hello), " hello");
  StreamDecoder continuation(tokenizer, false);
  EXPECT_EQ(continuation.push(hello), " hello");
  StreamDecoder spaces(tokenizer, true);
  EXPECT_EQ(spaces.push(id_of(v, "▁")), "");
  EXPECT_EQ(spaces.push(id_of(v, "▁")), " ");
}

TEST(StreamDecoder, JoinsToWhatDecodeGives) {
  const Vocabulary v = handmade::sentencepiece();
  const Tokenizer tokenizer(v);
  const std::string text = "hello  éa🚀 héllo → 😶‍🌫️";
  const std::vector<Token> tokens = tokenizer.encode(text, true, false);
  StreamDecoder decoder(tokenizer, true);
  std::string streamed;
  for (const Token token : tokens) streamed += decoder.push(token);
  streamed += decoder.finish();
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(tokenizer.decode(tokens), text);
}

TEST(StreamDecoder, RefusesTokensOutsideTheVocabularyAndGoesOn) {
  const Tokenizer tokenizer(handmade::byte_level("gpt-2"));
  StreamDecoder decoder(tokenizer, false);
  EXPECT_EQ(decoder.push(0xC3), "");
  EXPECT_THROW((void)decoder.push(static_cast<Token>(tokenizer.size())), Error);
  EXPECT_EQ(decoder.push(0xA9), "é");
}

}  // namespace
}  // namespace skipstone::text

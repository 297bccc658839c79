// SentencePiece as a tokenizer.json, whose merges become scores, and with the settings of Gemma.
#include <gtest/gtest.h>

#include <random>

#include "fixtures/failure.h"
#include "unit/converted_values.h"

namespace skipstone::convert::testing {
namespace {

// A vocabulary in which every way to make a piece is a merge.
Vocabulary small_sentencepiece() {
  Vocabulary v = handmade::sentencepiece();
  for (const char* piece : {"▁h", "▁hel", "hel", "▁hell", "hell", "ell", "el", "elo", "ello"})
    handmade::add(v, piece, TokenType::normal, -60);
  float score = -100;
  for (std::size_t i = v.tokens.size() - 9; i < v.tokens.size(); ++i) v.scores[i] = score--;
  return v;
}

TEST(ConvertedSentencePiece, MergesBecomeScores) {
  const Vocabulary v = small_sentencepiece();
  const Folder folder;
  json source = converted_sentencepiece_json(v);
  source["post_processor"] = bos_template("<s>");
  folder.write_json("tokenizer.json", source);
  const gguf::File file = folder.convert(size_of(v));
  EXPECT_EQ(value_of<std::string>(file, "ggml.model"), "llama");
  EXPECT_EQ(array_of<std::string>(file, "ggml.tokens"), v.tokens);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.bos_token_id"), 1u);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.unknown_token_id"), 0u);
  EXPECT_EQ(array_of<std::int32_t>(file, "ggml.token_type")[0], 2);
  EXPECT_EQ(array_of<std::int32_t>(file, "ggml.token_type")[3], 6);
  EXPECT_TRUE(value_of<bool>(file, "ggml.add_bos_token"));
  expect_same_ids(file, v);
}

TEST(ConvertedSentencePiece, MetaspaceInPlaceOfTheNormaliser) {
  Vocabulary v = small_sentencepiece();
  v.add_bos = false;
  json source = converted_sentencepiece_json(v);
  source["normalizer"] = nullptr;
  for (const char* scheme : {"first", "never"}) {
    source["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}, {"split", false}};
    const Folder folder;
    folder.write_json("tokenizer.json", source);
    v.add_space_prefix = std::string_view(scheme) == "first";
    expect_same_ids(folder.convert(size_of(v)), v);
  }
}

// What merging the first merge of the list first gives, written down plainly: characters, and the best pair again and again.
std::vector<Token> merged_plainly(const json& source, const std::string& text) {
  std::vector<std::string> symbols;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) symbols.emplace_back();
    symbols.back() += c;
  }
  const json& merges = source["model"]["merges"];
  while (true) {
    std::size_t best = merges.size(), place = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      for (std::size_t rank = 0; rank < best; ++rank) {
        if (merges[rank][0] != symbols[i] || merges[rank][1] != symbols[i + 1]) continue;
        best = rank;
        place = i;
      }
    }
    if (best == merges.size()) break;
    symbols[place] += symbols[place + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
  std::vector<Token> ids;
  for (const std::string& symbol : symbols) ids.push_back(source["model"]["vocab"][symbol].get<Token>());
  return ids;
}

// Texts of `letters`, as GGUF's tokenizer and as the list of merges cuts them.
void expect_merged_alike(const json& source, std::uint32_t rows, const std::string& letters) {
  const Folder folder;
  folder.write_json("tokenizer.json", source);
  const Tokenizer tokenizer(Vocabulary::from(folder.convert(rows)));
  std::mt19937 random(20);
  for (int i = 0; i < 300; ++i) {
    std::string text, escaped;
    for (std::size_t n = random() % 24; n > 0; --n) text += letters[random() % letters.size()];
    for (const char c : text) escaped += c == ' ' ? std::string("▁") : std::string(1, c);
    EXPECT_EQ(tokenizer.encode(text, false, false), merged_plainly(source, escaped)) << text;
  }
}

// Without a space in front, which only blurs what is looked at.
json without_prefix(json source) {
  source["normalizer"] = source["normalizer"]["normalizers"][1];
  return source;
}

TEST(ConvertedSentencePiece, PairsThatNeverStandSideBySideDoNotMatter) {
  const Vocabulary v = small_sentencepiece();
  const json good = without_prefix(converted_sentencepiece_json(v));
  expect_merged_alike(good, size_of(v), "helo abc");
  const std::size_t count = good["model"]["merges"].size();
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < count; ++i) {
    json incomplete = good;
    incomplete["model"]["merges"].erase(i);
    const Folder folder;
    folder.write_json("tokenizer.json", incomplete);
    const auto failure = fixtures::failure_of([&] { folder.convert(size_of(v)); });
    if (failure.code == Code::ok) {
      ++left_out;
      expect_merged_alike(incomplete, size_of(v), "helo abc");
    } else {
      EXPECT_EQ(failure.code, Code::unsupported) << failure.message;
      EXPECT_NE(failure.message.find("do not join"), std::string::npos) << failure.message;
    }
  }
  EXPECT_GT(left_out, 0u);
  EXPECT_LT(left_out, count);
}

// As transformers writes them: the pieces that SentencePiece was given, here runs of spaces, have one score, so their merges are in order
// of the parts' lengths, each run's early and late.
TEST(ConvertedSentencePiece, RunsOfSpacesJoinInAnyOrderOfTheList) {
  Vocabulary v = handmade::sentencepiece();
  std::string run = "▁▁";
  for (int i = 3; i <= 9; ++i) handmade::add(v, run += "▁", TokenType::normal, -200.F - static_cast<float>(i));
  json source = without_prefix(converted_sentencepiece_json(v));
  std::vector<json> spaces, rest;
  for (const json& merge : source["model"]["merges"]) {
    const std::string text = merge[0].get<std::string>() + merge[1].get<std::string>();
    (text.find_first_not_of("▁") == std::string::npos ? spaces : rest).push_back(merge);
  }
  std::stable_sort(spaces.begin(), spaces.end(),
                   [](const json& a, const json& b) { return a[0].get<std::string>().size() > b[0].get<std::string>().size(); });
  spaces.insert(spaces.end(), rest.begin(), rest.end());
  source["model"]["merges"] = spaces;
  expect_merged_alike(source, size_of(v), "   hello");
}

// Gemma's files cut at spaces after all of them have become U+2581.
TEST(ConvertedSentencePiece, ACutThatFindsNothingIsNone) {
  const Vocabulary v = small_sentencepiece();
  json source = without_prefix(converted_sentencepiece_json(v));
  source["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
  expect_merged_alike(source, size_of(v), "helo abc");
  const Folder folder;
  folder.write_json("tokenizer.json", source);
  EXPECT_FALSE(value_of<bool>(folder.convert(size_of(v)), "ggml.add_space_prefix"));
}

TEST(ConvertedSentencePiece, OtherTreatmentOfTextsIsRefused) {
  const Vocabulary v = small_sentencepiece();
  const auto refused = [&](const json& source) {
    const Folder folder;
    folder.write_json("tokenizer.json", source);
    const auto failure = fixtures::failure_of([&] { folder.convert(size_of(v)); });
    EXPECT_EQ(failure.code, Code::unsupported) << failure.message;
    return failure.message;
  };
  const json good = converted_sentencepiece_json(v);
  json split = good;
  split["normalizer"] = nullptr;
  split["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}};
  EXPECT_NE(refused(split).find("Metaspace"), std::string::npos);
  json lower = good;
  lower["normalizer"]["normalizers"].push_back({{"type", "Lowercase"}});
  EXPECT_NE(refused(lower).find("Lowercase"), std::string::npos);
}

// A model that SentencePiece 0.2.2 trained with Gemma's settings (data/make_gemma_like.py): no space in front, pieces of its own for runs
// of spaces and of line breaks and for tags, bytes for what is missing; and the ids that it gives itself.
TEST(GemmaLike, GivesTheIdsOfSentencePiece) {
  const std::string data = SKIPSTONE_TEST_SOURCES "/unit/data/";
  const Folder folder;
  folder.write("tokenizer.model", fixtures::bytes_of(data + "gemma_like.model"));
  const gguf::File file = folder.convert(560, "", "gemma3");
  EXPECT_FALSE(value_of<bool>(file, "ggml.add_space_prefix"));
  EXPECT_EQ(file.find("tokenizer.ggml.remove_extra_whitespaces"), nullptr);
  EXPECT_TRUE(value_of<bool>(file, "ggml.add_bos_token"));
  EXPECT_FALSE(value_of<bool>(file, "ggml.add_eos_token"));
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.bos_token_id"), 2u);
  EXPECT_EQ(value_of<std::uint32_t>(file, "ggml.eos_token_id"), 1u);
  const Tokenizer tokenizer(Vocabulary::from(file));
  const json cases = json::parse(fixtures::bytes_of(data + "gemma_like.json"))["cases"];
  ASSERT_GT(cases.size(), 20u);
  for (const json& each : cases) {
    const auto text = each[0].get<std::string>();
    const auto ids = each[1].get<std::vector<Token>>();
    EXPECT_EQ(tokenizer.encode(text, false, false), ids) << each[0];
    if (text.find("▁") != std::string::npos) continue;  // U+2581 is a space in disguise
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
  const Vocabulary& v = tokenizer.vocabulary();
  EXPECT_TRUE(tokenizer.ends_generation(handmade::id_of(v, "<end_of_turn>")));
  EXPECT_TRUE(tokenizer.ends_generation(1));
  EXPECT_EQ(tokenizer.encode("<bos>", false, true), std::vector<Token>{2});
}

TEST(GemmaLike, RandomTextsComeBack) {
  const Folder folder;
  folder.write("tokenizer.model", fixtures::bytes_of(SKIPSTONE_TEST_SOURCES "/unit/data/gemma_like.model"));
  const Tokenizer tokenizer(Vocabulary::from(folder.convert(560, "", "gemma2")));
  std::mt19937 random(3);
  const char* const parts[] = {" ", "  ", "\n", "\n\n", "\t", "the", " model", "<h1>", "<em", "</table>", "é", "🚀", "7", "<start_of_turn>",
                               "x"};
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (std::size_t n = random() % 30; n > 0; --n) text += parts[random() % std::size(parts)];
    const std::vector<Token> ids = tokenizer.encode(text, true, false);
    EXPECT_EQ(ids.front(), 2);
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
}

}  // namespace
}  // namespace skipstone::convert::testing

// Names of models on a hub, the files they mean, and checksums. tests/pull has the program and a hub.
#include <gtest/gtest.h>

#include "pull/model_name.h"
#include "terminal/exit_code.h"
#include "terminal/output.h"
#ifdef SKIPSTONE_PULL
#include "pull/checksum.h"
#endif

namespace cli::pull {
namespace {

std::vector<std::string> chosen(const std::vector<std::string>& files, const std::string& quant) {
  try {
    return choose_files(files, ModelName{"o", "n", quant});
  } catch (const Failure&) {
    return {};
  }
}

TEST(ModelName, IsTakenApart) {
  const ModelName model = ModelName::parse("hf:Org-1/My.Model_7B:Q4_K_M");
  EXPECT_EQ(model.repository(), "Org-1/My.Model_7B");
  EXPECT_EQ(model.quant, "Q4_K_M");
  EXPECT_EQ(ModelName::parse("o/n").text(), "o/n");
  EXPECT_EQ(ModelName::parse("o/n:sub/file.gguf").quant, "sub/file.gguf");
  for (const char* none : {"", "hf:", "o", "/n", "o/", "o/n/m", "o/..", "o/a--b", "o/n:", "o/n:../x", "o/n:a\nb", "o/n m", ".o/n"}) {
    EXPECT_THROW(ModelName::parse(none), Failure) << none;
  }
}

TEST(SafePath, StaysInItsFolder) {
  for (const char* safe : {"a", "a/b.gguf", "..a/b..c", "ä/ö"}) EXPECT_TRUE(is_safe_path(safe)) << safe;
  for (const char* unsafe : {"", "/a", "a/", "a//b", ".", "..", "a/../b", "a\\b", "a\x1b", "a\n"})
    EXPECT_FALSE(is_safe_path(unsafe)) << unsafe;
}

TEST(ChooseFiles, TakesTheTypeAsAWord) {
  const std::vector<std::string> files = {"m-IQ4_K_M.gguf",   "m-Q4_K_M-imat.GGUF", "m.Q4_K_L.gguf", "Q6_K/m.gguf",    "m_q5_0.gguf",
                                          "mmproj-Q8_0.gguf", "m.imatrix.gguf",     "m-Q8_0.txt",    "m-Q4_K_M_L.gguf"};
  const auto one = [&](const std::string& quant) {
    const auto found = chosen(files, quant);
    return found.size() == 1 ? found.front() : "";
  };
  EXPECT_EQ(one("Q4_K_M"), "m-Q4_K_M-imat.GGUF");
  EXPECT_EQ(one(""), "m-Q4_K_M-imat.GGUF");
  EXPECT_EQ(one("q6_k"), "Q6_K/m.gguf");
  EXPECT_EQ(one("Q5_0"), "m_q5_0.gguf");
  EXPECT_EQ(one("Q4_K"), "");
  EXPECT_EQ(one("Q8_0"), "");
  EXPECT_EQ(one("m.Q4_K_L.gguf"), "m.Q4_K_L.gguf");
}

TEST(ChooseFiles, TakesAllPartsInOrder) {
  const std::vector<std::string> files = {"m-Q8_0-00002-of-00003.gguf", "m-Q8_0-00001-of-00003.gguf", "m-Q8_0-00003-of-00003.gguf",
                                          "m-Q6_K-00001-of-00002.gguf", "m-Q8_0-00001-of-00002.gguf"};
  EXPECT_EQ(chosen(files, "Q6_K"), std::vector<std::string>{}) << "a part is missing";
  EXPECT_EQ(chosen({files[0], files[1], files[2], files[3]}, "Q8_0"), (std::vector<std::string>{files[1], files[0], files[2]}));
  EXPECT_EQ(chosen({files[0], files[1], files[2]}, "m-Q8_0-00001-of-00003.gguf").size(), 3u);
  EXPECT_EQ(chosen({"m-Q8_0-00004-of-00003.gguf"}, ""), std::vector<std::string>{"m-Q8_0-00004-of-00003.gguf"}) << "a name like others";
}

// As llama.cpp has it: the usual type, else the first file.
TEST(ChooseFiles, TakesTheFirstWhereNoTypeIsNamed) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(chosen({"m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-BF16.gguf"}, ""), Names{"m-Q4_K_M.gguf"});
  EXPECT_EQ(chosen({"m-Q8_0.gguf", "m-Q6_K.gguf", "mmproj.gguf"}, ""), Names{"m-Q6_K.gguf"});
  EXPECT_EQ(chosen({"m-Q5_0-00001-of-00002.gguf", "m-Q8_0.gguf"}, ""), Names{"m-Q8_0.gguf"}) << "a part of the first is missing";
  EXPECT_EQ(chosen({"m-Q5_0-00001-of-00002.gguf"}, ""), Names{});
  EXPECT_EQ(ModelName::parse("o/n").or_usual().quant, "Q4_K_M");
  EXPECT_EQ(ModelName::parse("o/n:q8_0").or_usual().quant, "q8_0");
}

#ifdef SKIPSTONE_PULL
bool matches(const std::string& checksum, std::string_view text) {
  Checksum made(checksum, text.size());
  made.add(std::as_bytes(std::span(text.substr(0, 1))));
  made.add(std::as_bytes(std::span(text.substr(1))));
  return made.matches();
}

// FIPS 180-2's example, and what `git hash-object` says of it.
TEST(Checksum, IsThatOfTheHub) {
  const std::string sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                    git = "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f";
  EXPECT_TRUE(matches(sha256, "abc"));
  EXPECT_FALSE(matches(sha256, "abd"));
  EXPECT_TRUE(matches(git, "abc"));
  EXPECT_FALSE(matches(git, "abcd"));
  EXPECT_TRUE(Checksum::is_one(git) && Checksum::is_one(sha256));
  EXPECT_FALSE(Checksum::is_one("") || Checksum::is_one(sha256.substr(1)) || Checksum::is_one(std::string(64, 'G')));
}
#endif

// Names that a progress line shows may have characters of several bytes.
TEST(ErasableLine, IsCutAtColumns) {
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "\u00e9";
  testing::internal::CaptureStderr();
  const std::size_t columns = ErasableLine::columns();
  {
    ErasableLine line;
    line.draw(wide);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "\r\033[K" + wide.substr(0, 2 * columns) + "\r\033[K");
}

}  // namespace
}  // namespace cli::pull

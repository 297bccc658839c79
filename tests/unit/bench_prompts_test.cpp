// Files of prompts: the forms that benchmarks come in, and what can be wrong with them.
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "fixtures/temporary_directory.h"
#include "prompts/prompts.h"
#include "terminal/exit_code.h"

namespace cli::bench {
namespace {

class BenchPrompts : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.file(name), std::ios::binary) << bytes;
    return folder_.file(name);
  }
  std::string compress(const std::string& name, const std::string& bytes) const {
    // zlib takes no names beyond ASCII on Windows.
    const std::string plain = folder_.file("plain.gz");
    gzFile file = gzopen(plain.c_str(), "wb");
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
    gzclose(file);
    std::filesystem::rename(plain, skipstone::fixtures::path_of(folder_.file(name)));
    return folder_.file(name);
  }
  static std::string refusal(const std::string& file) {
    try {
      read_prompts(file, 0);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::usage);
      return failure.what();
    }
    return "nothing was refused";
  }
  void expect_refusal(const std::string& name, const std::string& bytes, const std::string& part) const {
    const std::string sentence = refusal(write(name, bytes));
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(name), std::string::npos) << sentence;
  }

  skipstone::fixtures::TemporaryDirectory folder_;
};

const char* const forms =
    "{\"task_id\": \"x\", \"prompt\": \"one\"}\n"
    "{\"question\": \"two\", \"answer\": \"4\"}\r\n"
    "\n"
    "{\"turns\": [\"three\", \"not this\"]}\n"
    "{\"text\": \"f\\u00f6ur\"}\n"
    "\"five\"";

void expect_forms(const std::vector<Prompt>& prompts) {
  ASSERT_EQ(prompts.size(), 5u);
  EXPECT_EQ(prompts[0].text, "one");
  EXPECT_EQ(prompts[1].text, "two");
  EXPECT_EQ(prompts[2].text, "three");
  EXPECT_EQ(prompts[3].text, "f\xC3\xB6ur");
  EXPECT_EQ(prompts[4].text, "five");
  EXPECT_EQ(prompts[0].line, 1u);
  EXPECT_EQ(prompts[2].line, 4u);
}

TEST_F(BenchPrompts, EveryForm) { expect_forms(read_prompts(write("a.jsonl", forms), 0)); }

TEST_F(BenchPrompts, Compressed) { expect_forms(read_prompts(compress("a.jsonl.gz", forms), 0)); }

TEST_F(BenchPrompts, LimitStopsReading) {
  const auto prompts = read_prompts(write("a.jsonl", "\"one\"\n\"two\"\nnot JSON\n"), 2);
  ASSERT_EQ(prompts.size(), 2u);
  EXPECT_EQ(prompts[1].text, "two");
}

TEST_F(BenchPrompts, CategoriesAreKeptWhereTheyAreTexts) {
  const auto prompts =
      read_prompts(write("a.jsonl", "{\"text\": \"a\", \"category\": \"rag\"}\n{\"text\": \"b\", \"category\": 3}\n\"c\"\n"), 0);
  ASSERT_EQ(prompts.size(), 3u);
  EXPECT_EQ(prompts[0].category, "rag");
  EXPECT_EQ(prompts[1].category, "");
  EXPECT_EQ(prompts[2].category, "");
}

TEST_F(BenchPrompts, ATextIsOnePrompt) {
  for (const std::string& file : {write("a.txt", "first\n\nlast\r\n"), compress("a.txt.gz", "first\n\nlast\n")}) {
    const auto prompts = read_prompts(file, 0);
    ASSERT_EQ(prompts.size(), 1u);
    EXPECT_EQ(prompts[0].text, "first\n\nlast");
    EXPECT_EQ(prompts[0].line, 0u);
  }
}

TEST_F(BenchPrompts, BadLines) {
  expect_refusal("a.jsonl", "\"fine\"\n{\"prompt\": \"cut off", "line 2 is not JSON");
  expect_refusal("b.jsonl", "\"fine\"\n\n{\"answer\": 3}\n", "line 3 has no prompt");
  expect_refusal("c.jsonl", "{\"prompt\": 3}\n", "line 1: the prompt is not a text");
  expect_refusal("d.jsonl", "{\"turns\": []}\n", "line 1: the prompt is not a text");
  expect_refusal("e.jsonl", "[\"a\"]\n", "line 1: the prompt is not a text");
  expect_refusal("f.jsonl", "{\"text\": \"\"}\n", "line 1: the prompt is empty");
  expect_refusal("g.jsonl", "\"caf\xC3( is not UTF-8\"\n", "line 1 is not JSON");
}

TEST_F(BenchPrompts, BadFiles) {
  expect_refusal("empty.jsonl", "", "there is no prompt in");
  expect_refusal("blank.jsonl", "\n  \n", "there is no prompt in");
  expect_refusal("empty.txt", "\n", "there is no prompt in");
  expect_refusal("prompts.pdf", "\"x\"", "its name has to end in");
  EXPECT_NE(refusal(folder_.file("missing.jsonl")).find(skipstone::fixtures::no_such_file()), std::string::npos);
  std::filesystem::create_directory(folder_.file("folder.jsonl"));
  EXPECT_NE(refusal(folder_.file("folder.jsonl")).find("cannot be read"), std::string::npos);
  const std::string whole = skipstone::fixtures::bytes_of(compress("whole.jsonl.gz", std::string(5000, ' ') + "\"a\"\n"));
  expect_refusal("cut.jsonl.gz", whole.substr(0, whole.size() - 9), "damaged");
}

}  // namespace
}  // namespace cli::bench

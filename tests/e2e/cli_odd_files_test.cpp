// Model files that contradict themselves, as some published ones do: they run, with one line of warning. And what inspect says of others.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "program.h"
#include "unit/edited_model.h"

namespace skipstone::e2e {
namespace {

using tests::EditedModel;

std::ptrdiff_t warnings_in(const std::string& error) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = error.find("warning"); at != std::string::npos; at = error.find("warning", at + 1)) ++count;
  return count;
}

class CliOddFiles : public testing::Test {
 protected:
  std::string write(const std::function<void(EditedModel&)>& edit) const {
    EditedModel model;
    edit(model);
    model.write(path_);
    return path_;
  }

  const fixtures::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("odd.gguf");
};

TEST_F(CliOddFiles, RunWithOneLineOfWarning) {
  const auto run_it = [&] { return run({"run", "-m", path_, "-p", "Hello", "-n", "8", "--draft", "none"}); };
  write([](EditedModel&) {});
  const Result plain = run_it();
  ASSERT_EQ(plain.code, 0) << plain.error;
  const std::map<std::string, std::function<void(EditedModel&)>> same_text = {
      {"special ids outside the vocabulary",
       [](EditedModel& m) {
         m.set("tokenizer.ggml.eos_token_id", std::uint32_t{0xFFFFFFFF}).set("tokenizer.ggml.bos_token_id", std::uint32_t{1000000});
       }},
      {"a vision tower",
       [](EditedModel& m) {
         m.tensor("v.blk.0.attn_q.weight", {32, 2}).tensor("mm.0.weight", {32, 2}).tensor("a.conv.bias", {32}).tensor("mmproj.x", {4});
       }},
      {"a chat template that does not compile", [](EditedModel& m) { m.set("tokenizer.chat_template", std::string("{% for %}")); }},
  };
  for (const auto& [name, edit] : same_text) {
    write(edit);
    const Result odd = run_it();
    EXPECT_EQ(odd.code, 0) << name << ": " << odd.error;
    EXPECT_EQ(odd.out, plain.out) << name;
    EXPECT_EQ(warnings_in(odd.error), 1) << name << ": " << odd.error;
  }
  write([](EditedModel& m) { m.tensor("output_norm.weight", {64}, std::vector<float>(64, 1.0f), gguf::Type::bf16); });
  const Result rounded = run_it();
  EXPECT_EQ(rounded.code, 0) << rounded.error;
  EXPECT_EQ(warnings_in(rounded.error), 1) << rounded.error;
}

TEST_F(CliOddFiles, ABrokenTemplateStopsChats) {
  write([](EditedModel& m) { m.set("tokenizer.chat_template", std::string("{{ messages")); });
  const std::string messages = folder_.file("m.json");
  std::ofstream(messages) << R"([{"role": "user", "content": "a"}])";
  for (const std::vector<std::string>& command : {std::vector<std::string>{"run", "--chat", "-p", "a", "-n", "4", "--draft", "none"},
                                                  {"chat", "-n", "4", "--draft", "none"},
                                                  {"template", "--messages", messages}}) {
    std::vector<std::string> arguments = {command[0], "-m", path_};
    arguments.insert(arguments.end(), command.begin() + 1, command.end());
    const Result refused = run(Command{arguments, ""});
    EXPECT_EQ(refused.code, 3) << command[0] << ": " << refused.error;
    EXPECT_NE(refused.error.find("error: the model's chat template: line 1"), std::string::npos) << refused.error;
    arguments.insert(arguments.end(), {"--chat-template", "chatml"});
    EXPECT_EQ(run(Command{arguments, ""}).code, 0) << command[0];
  }
}

// Memory that not every token reads has other reasons, too.
TEST_F(CliOddFiles, OnlyModelsWithWindowsHaveALineOfThem) {
  for (const char* family : {"lfm2", "glm4moe", "deepseek2", "gemma2"}) {
    fixtures::write_tiny_model(fixtures::tiny_family(family), path_);
    const Result result = run({"inspect", path_});
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(result.out.find("windows: the KV cache takes") != std::string::npos, family == std::string("gemma2")) << family;
  }
}

}  // namespace
}  // namespace skipstone::e2e

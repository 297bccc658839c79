// Texts and names in any writing, the same bytes on every system: as arguments, in files, through pipes, in variables and in what comes
// out.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_checkpoint.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string name = "Gr\u00fc\u00dfe an \u65e5\u672c \U0001f600 e\u0301";

const std::string texts[] = {
    "na\u00efve Gr\u00fc\u00dfe, \u0395\u03bb\u03bb\u03ac\u03b4\u03b1, \u041f\u0440\u0438\u0432\u0435\u0442, \u65e5\u672c\u8a9e",
    "\U0001f600 \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \U0001d518 and \U0010ffff, beyond 16 bits",
    "e\u0301 is not \u00e9, nor is a\u0302\u0301 \u1ea5",
    "\u202eright to left\u202c and \ufeff in the middle",
    "he said \"well\\\" and C:\\folder\\\\\" \\\\",
    "/x is no option, nor is /p:y",
    "%PATH% $HOME `x` 'y' ^ & | < > * ? ~ !\ttab",
};

class CliUnicode : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(fixtures::path_of(folder()));
    fixtures::write_tiny_model({}, folder_.file("tiny.gguf"));
    fs::rename(fixtures::path_of(folder_.file("tiny.gguf")), fixtures::path_of(model()));
  }
  std::string folder() const { return folder_.file(name); }
  std::string model() const { return folder() + "/" + name + ".gguf"; }
  std::vector<std::string> run_with(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"run", "-m", model(), "-n", "2", "--draft", "none"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  /// The prompt comes back as it was, in JSON and in front of the text.
  void expect_prompt(Command command, const std::string& prompt) const {
    command.environment["SKIPSTONE_CACHE"] = folder() + "/cache";
    const Result plain = run(command);
    EXPECT_EQ(plain.code, 0) << plain.error;
    EXPECT_EQ(plain.out.substr(0, prompt.size()), prompt);
    command.arguments.emplace_back("--json");
    const Result result = run(command);
    ASSERT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(json::parse(result.out)["prompt"], prompt);
    EXPECT_EQ(json::parse(result.out)["model"]["path"], model());
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(CliUnicode, PromptsComeBackUnchanged) {
  const std::string file = folder() + "/" + name + ".txt";
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    expect_prompt({.arguments = run_with({"-p", text})}, text);
    std::ofstream(fixtures::path_of(file), std::ios::binary) << text << "\n";
    expect_prompt({.arguments = run_with({"-f", file})}, text);
    expect_prompt({.arguments = run_with({"-f", "-"}), .input = text + "\n"}, text);
  }
  expect_prompt({.arguments = run_with({"-f", "-"}), .input = "first line\r\nsecond\r\n"}, "first line\r\nsecond");
}

TEST_F(CliUnicode, VariablesAreReadAsArgumentsAre) {
  Command command{.arguments = {"run", "--json"}};
  command.environment = {
      {"SKIPSTONE_MODEL", model()}, {"SKIPSTONE_PROMPT", texts[1]}, {"SKIPSTONE_PREDICT", "2"}, {"SKIPSTONE_DRAFT", "none"}};
  const Result result = run(command);
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(json::parse(result.out)["prompt"], texts[1]);
}

TEST_F(CliUnicode, TemplatesAndConversations) {
  const auto write = [&](const std::string& ending, const std::string& text) {
    const std::string path = folder() + "/" + name + ending;
    std::ofstream(fixtures::path_of(path), std::ios::binary) << text;
    return path;
  };
  const std::string jinja = write(".jinja", "\u00e4 {{ messages[0].content }}");
  for (const std::string& text : texts) {
    const std::string variables = write(".json", json({{"messages", {{{"content", text}}}}}).dump());
    const Result result = run({"template", "--jinja", jinja, "--variables", variables});
    EXPECT_EQ(result.out, "\u00e4 " + text) << result.error;
  }
}

TEST_F(CliUnicode, FilesAreWrittenUnderTheNamesThatTheyWereGiven) {
  const std::string quantised = folder() + "/q " + name + ".gguf", converted = folder() + "/c " + name + ".gguf",
                    table = folder() + "/b " + name + ".json";
  const Result report = run({"quantize", model(), quantised, "q8_0", "--json"});
  ASSERT_EQ(report.code, 0) << report.error;
  EXPECT_EQ(json::parse(report.out)["output"]["path"], quantised);
  fixtures::write_checkpoint(fixtures::tiny_checkpoint(), folder_.file("hf"));
  fs::rename(fixtures::path_of(folder_.file("hf")), fixtures::path_of(folder() + "/hf " + name));
  const Result made = run({"convert", folder() + "/hf " + name, converted});
  ASSERT_EQ(made.code, 0) << made.error;
  EXPECT_TRUE(made.out.starts_with(converted + ": ")) << made.out;
  const Result measured = run({"bench", model(), "-p", "4", "-n", "2", "-r", "1", "--format", "json", "-o", table});
  ASSERT_EQ(measured.code, 0) << measured.error;
  EXPECT_EQ(json::parse(fixtures::bytes_of(table)).size(), 2u);
  for (const std::string& path : {quantised, converted}) {
    EXPECT_TRUE(fs::exists(fixtures::path_of(path))) << path;
    EXPECT_EQ(run({"inspect", path}).code, 0) << path;
  }
}

TEST_F(CliUnicode, NamesThatAreNotThereAreNamedInTheSentence) {
  const Result missing = run({"inspect", folder() + "/no " + name + ".gguf"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_TRUE(contains(missing.error, "no " + name + ".gguf")) << missing.error;
}

TEST_F(CliUnicode, PathsMayBeLong) {
  std::string deep = folder();
  for (int i = 0; i < 4; ++i) deep += "/" + std::string(100, static_cast<char>('a' + i)) + "\u00fc";
  fs::create_directories(fixtures::long_path(deep));
  const std::string quantised = deep + "/" + name + ".gguf";
  ASSERT_GT(quantised.size(), 400u);
  const Result report = run({"quantize", model(), quantised, "q8_0"});
  ASSERT_EQ(report.code, 0) << report.error;
  Command command{.arguments = {"run", "-m", quantised, "-p", "Hello", "-n", "4", "--json"}};
  command.environment = {{"SKIPSTONE_CACHE", deep + "/cache"}};
  const Result text = run(command);
  ASSERT_EQ(text.code, 0) << text.error;
  EXPECT_EQ(json::parse(text.out)["model"]["path"], quantised);
  EXPECT_FALSE(fs::is_empty(fixtures::long_path(deep + "/cache"))) << "nothing is kept";
  EXPECT_EQ(run({"quantize", model(), quantised, "q8_0", "--force"}).code, 0) << "a file is replaced";
}

}  // namespace
}  // namespace skipstone::e2e

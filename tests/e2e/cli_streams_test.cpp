// Every command with standard streams that are closed, broken, or take nothing: it ends by itself, with the right exit code, and does its
// work.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_checkpoint.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

constexpr Stream spoilt[] = {Stream::closed, Stream::refusing, Stream::broken};

std::string name_of(Stream stream) { return stream == Stream::closed ? "closed" : stream == Stream::refusing ? "refusing" : "broken"; }

/// Arguments, what they end with where all is well, and the file they then leave ("": none).
struct Case {
  std::vector<std::string> arguments;
  int code = 0;
  std::string file = {};
  std::string name() const { return arguments.empty() ? "no command" : arguments.front(); }
};

class CliStreams : public testing::Test {
 protected:
  void SetUp() override { fixtures::write_tiny_model({}, model()); }
  std::string model() const { return folder_.file("tiny.gguf"); }

  Result run_with(const Case& c, Stream out, Stream error) const {
    if (!c.file.empty()) std::filesystem::remove(c.file);
    Command command{c.arguments};
    command.out = out;
    command.error = error;
    command.environment = {{"SKIPSTONE_CACHE", folder_.file("cache")}};
    const Result result = run(command);
    EXPECT_EQ(result.signal, 0) << c.name();
    return result;
  }

  /// Standard error matters only to its reader; without standard output there is no result, and that is said.
  void check(const Case& c) const {
    const Result good = run_with(c, Stream::piped, Stream::piped);
    ASSERT_EQ(good.code, c.code) << c.name() << "\n" << good.error;
    for (const Stream stream : spoilt) {
      SCOPED_TRACE(c.name() + ", " + name_of(stream));
      EXPECT_EQ(run_with(c, Stream::piped, stream).code, c.code);
      EXPECT_TRUE(c.file.empty() || std::filesystem::exists(c.file)) << "its work is not done";
      if (good.out.empty()) continue;
      const Result result = run_with(c, stream, Stream::piped);
      if (stream == Stream::broken) {  // who has read enough has a result
        EXPECT_EQ(result.code, c.code) << result.error;
        EXPECT_EQ(result.error.find("error"), std::string::npos) << result.error;
      } else {
        EXPECT_EQ(result.code, 1);
        EXPECT_NE(result.error.find("error: standard output cannot be written: "), std::string::npos) << result.error;
      }
    }
    EXPECT_GT(run_with(c, Stream::refusing, Stream::refusing).code, 0) << c.name();
  }

  /// For what takes its time: each way once, on one of the streams.
  void check_briefly(const Case& c) const {
    SCOPED_TRACE(c.name());
    EXPECT_EQ(run_with(c, Stream::piped, Stream::refusing).code, c.code);
    EXPECT_EQ(run_with(c, Stream::refusing, Stream::closed).code, 1);
    EXPECT_EQ(run_with(c, Stream::broken, Stream::broken).code, c.code);
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(CliStreams, HelpAndVersion) {
  check({{"--help"}});
  check({{"--version"}});
  check({{"run", "--help"}});
}

TEST_F(CliStreams, Refusals) {
  check({{"inspect", "nope"}, 3});
  check({{"run", "--no-such-option"}, 2});
  check({{"doctor", "--device", "no such device"}, 4});
  check({{"bench", "-m", model(), "--rows", "many"}, 2});
  check({{"tune", model(), "--prompts", "none.jsonl"}, 2});
  check({{"compare", "nope.json"}, 2});
  check({std::vector<std::string>(), 2});
}

TEST_F(CliStreams, CommandsWithoutADevice) {
  check({{"inspect", model()}});
  check({{"inspect", model(), "--json"}});
  const std::string quantised = folder_.file("q8_0.gguf"), converted = folder_.file("converted.gguf");
  check({{"quantize", model(), quantised, "q8_0", "--force"}, 0, quantised});
  fixtures::write_checkpoint(fixtures::tiny_checkpoint(), folder_.file("checkpoint"));
  check({{"convert", folder_.file("checkpoint"), converted, "--force"}, 0, converted});
}

TEST_F(CliStreams, CommandsOnADevice) {
  check({{"devices"}});
  check({{"run", "-m", model(), "-p", "Hello", "-n", "4", "--draft", "none", "--stats"}});
  check_briefly({{"run", "-m", model(), "-p", "Hello", "-n", "4", "--draft", "none", "--json"}});
  check_briefly({{"devices", "--costs", "-m", model()}});
  check_briefly({{"bench", "-m", model(), "-p", "4", "-n", "2", "-r", "1"}});
  check_briefly({{"tune-device", "-m", model(), "--seconds", "0.1"}});
}

TEST_F(CliStreams, NoFileTakesTheNumberOfAClosedStream) {
  const std::string output = folder_.file("out.gguf");
  Command command{{"quantize", model(), output, "q8_0"}};
  command.in = command.out = command.error = Stream::closed;
  const Result result = run(command);
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.code, 1) << "the report has no place";
  const Result inspected = run({"inspect", output});
  EXPECT_EQ(inspected.code, 0) << "the report is in the file: " << inspected.error;

  Command prompt{{"run", "-m", model(), "-f", "-", "-n", "4"}};
  prompt.in = Stream::closed;
  const Result refused = run(prompt);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.error.find("the prompt in standard input cannot be read"), std::string::npos) << refused.error;
}

}  // namespace
}  // namespace skipstone::e2e

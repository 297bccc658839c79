// What only Windows has in arguments: halves of surrogate pairs, and names that are no files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "e2e/program.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_checkpoint.h"
#include "fixtures/tiny_model.h"

namespace skipstone::e2e {
namespace {

namespace fs = std::filesystem;

class WindowsArguments : public testing::Test {
 protected:
  void SetUp() override { fixtures::write_tiny_model({}, model()); }
  std::string model() const { return folder_.file("tiny.gguf"); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  /// One sentence, and nothing in the folder that was not there.
  void expect_refused(const std::vector<std::string>& arguments, const std::vector<int>& codes, const std::string& part) const {
    const std::size_t before = files();
    const Result result = run({.arguments = arguments, .folder = folder_.file(""), .seconds = 60});
    std::string shown;
    for (const std::string& argument : arguments) shown += " " + argument;
    EXPECT_TRUE(std::ranges::find(codes, result.code) != codes.end()) << shown << "\n" << result.code << " " << result.error;
    EXPECT_EQ(result.out, "") << shown;
    EXPECT_TRUE(result.error.starts_with("error: ")) << shown << "\n" << result.error;
    EXPECT_EQ(std::ranges::count(result.error, '\n'), 1) << shown << "\n" << result.error;
    EXPECT_TRUE(contains(result.error, part)) << shown << "\nwanted: " << part << "\n" << result.error;
    EXPECT_EQ(files(), before) << shown;
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(WindowsArguments, HalvesOfSurrogatePairsAreNoText) {
  // As UTF-8 would have them, if it could; the fixture makes halves of them.
  for (const std::string half : {"\xed\xa0\xbd", "\xed\xb8\x80"}) {
    for (const std::string& text : {half, "before " + half, half + " behind", half + half}) {
      expect_refused({"run", "-m", model(), "-p", text, "-n", "2"}, {2}, "argument 5 is no Unicode text");
    }
    expect_refused({"inspect", half + ".gguf"}, {2}, "argument 2 is no Unicode text");
  }
  const Result whole = run({"run", "-m", model(), "-p", "\xed\xa0\xbd\xed\xb8\x80", "-n", "2"});
  EXPECT_EQ(whole.code, 0) << "a first and a second half are a character: " << whole.error;
  EXPECT_TRUE(whole.out.starts_with("\U0001f600")) << whole.out;
}

TEST_F(WindowsArguments, NamesOfDevicesAreNoOutput) {
  fixtures::write_checkpoint(fixtures::tiny_checkpoint(), folder_.file("hf"));
  for (const char* name : {"NUL", "con.gguf", "aux.json", "COM1", "lpt9.x.gguf", "nul .gguf", "PRN"}) {
    for (const std::string& path : {std::string(name), folder_.file(name)}) {
      expect_refused({"quantize", model(), path, "q8_0", "--force"}, {1, 2}, name);
      expect_refused({"convert", folder_.file("hf"), path, "--force"}, {1, 2}, name);
    }
  }
  expect_refused({"bench", model(), "-p", "4", "-n", "2", "-r", "1", "-o", "nul"}, {1}, "not a regular file");
}

TEST_F(WindowsArguments, NamesOfDevicesAreNoModel) {
  for (const char* name : {"NUL", "con.gguf", "aux.json", "COM1"}) {
    expect_refused({"run", "-m", name, "-p", "Hello"}, {3}, name);
    expect_refused({"inspect", name}, {3}, name);
    expect_refused({"quantize", name, folder_.file("out.gguf"), "q8_0"}, {3}, name);
  }
  expect_refused({"run", "-m", model(), "-p", "Hello", "--draft", "skip:aux.json"}, {2}, "aux.json");
}

}  // namespace
}  // namespace skipstone::e2e

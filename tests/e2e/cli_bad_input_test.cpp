// What people get wrong, and what goes wrong under them: one sentence, the right exit code, nothing on standard output.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

class BadInput : public testing::Test {
 protected:
  void SetUp() override { fixtures::write_tiny_model({}, model()); }
  std::string model() const { return folder_.file("tiny.gguf"); }

  /// Runs and expects `code`, one sentence with `part` in it, and no text.
  void expect(const Command& what, int code, const std::string& part) const {
    const Result result = run(what);
    std::string shown;
    for (const std::string& argument : what.arguments) shown.append(" ").append(argument, 0, 60);
    EXPECT_EQ(result.code, code) << shown << "\n" << result.error << "signal " << result.signal;
    EXPECT_EQ(result.out, "") << shown;
    EXPECT_EQ(result.error.rfind("error: ", 0), 0u) << shown << "\n" << result.error;
    EXPECT_NE(result.error.find(part), std::string::npos) << shown << "\nwanted: " << part << "\n" << result.error;
  }
  void expect(std::vector<std::string> arguments, int code, const std::string& part) const {
    expect(Command{std::move(arguments)}, code, part);
  }
  /// `run` on the tiny model with a prompt and more options.
  void expect_run(const std::vector<std::string>& more, int code, const std::string& part) const {
    std::vector<std::string> arguments = {"run", "-m", model(), "-p", "Hello", "-n", "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect(arguments, code, part);
  }

  std::string bytes_of_model() const {
    std::ostringstream all;
    all << std::ifstream(model(), std::ios::binary).rdbuf();
    return all.str();
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.file(name), std::ios::binary) << bytes;
    return folder_.file(name);
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(BadInput, Options) {
  expect_run({"--no-such-option"}, 2, "no-such-option");
  expect_run({"--temp", "warm"}, 2, "warm");
  expect_run({"--temp", "nan"}, 2, "temperature");
  expect_run({"--temp", "-1"}, 2, "temperature");
  expect_run({"--temp", "inf"}, 2, "temperature");
  expect_run({"--top-p", "2"}, 2, "top");
  expect_run({"--min-p", "nan"}, 2, "min");
  expect_run({"--repeat-penalty", "0"}, 2, "penalty");
  expect_run({"--kv", "f8"}, 2, "f8");
  expect_run({"--kv-k", "q4_1"}, 2, "q4_1");
  expect_run({"--math", "f16"}, 2, "f16");
  expect_run({"--pre", "help"}, 2, "There is no pre-tokenizer \"help\"; there are default, gpt-2, ");
  expect_run({"--pre", "qwen2"}, 2, "only byte-level BPE (gpt2) has one");
  expect_run({"--rounds", "sideways"}, 2, "sideways");
  expect_run({"--kv", "q8_0"}, 2, "blocks of 32 dimensions, and this model's heads have 16");
  expect_run({"--kv-v", "q5_1"}, 2, "a q5_1 KV cache has blocks of 32 dimensions, and this model's heads have 16");
  expect_run({"--draft", "psychic"}, 2, "psychic");
  expect_run({"--draft", "asd:banana=1"}, 2, "banana");
  expect_run({"--draft", "asd:k=many"}, 2, "many");
  expect_run({"--draft", "suffix:k=32"}, 2, "1 to 31");
  expect_run({"--draft", "lookup+psychic"}, 2, "psychic");
  expect_run({"--draft", "lookahead:w=20,n=4"}, 2, "a pass verifies 31");
  expect_run({"--draft", "ngram:k=26"}, 2, "drafter ngram: k=26 has to be a whole number from 1 to 25");
  expect_run({"--draft", "ngram:w=99"}, 2, "drafter ngram: w=99 has to be a whole number from 1 to 31");
  expect_run({"--draft", "ngram:rows=square"}, 2, "drafter ngram: rows=square has to be one of: tree, block");
  expect({"bench", "-m", model(), "--preset", "ngrammys-fig1", "--rows", "4"}, 2, "brings its own tests");
  expect({"bench", "-m", model(), "--preset", "ngrammys-fig1", "--prompts", "x.txt"}, 2, "leave --prompts out");
  expect({"bench", "-m", model(), "--preset", "ngrammys-fig2"}, 2, "--prompts FILE");
  expect_run({"--draft", "recycle:k=0"}, 2, "drafter recycle: k=0 has to be a whole number from 1 to 8");
  expect({"run", "-m", model(), "-p", "Hello", "-n", "-7"}, 2, "-7");
  expect({"inspect", "--tensors", "--nonsense"}, 2, "skipstone inspect has no option '--nonsense'");
  expect({"inspect", model(), "--kv", "q8_0"}, 2, "blocks of 32 dimensions");
  expect({"dance"}, 2, "dance");
}

TEST_F(BadInput, TextsForDrafters) {
  expect_run({"--draft", "copy"}, 2, "copy:FILE");
  expect_run({"--draft", "copy:" + folder_.file("no+asd.txt")}, 2, "no+asd.txt' cannot be read");
  expect_run({"--draft", "copy:" + write("empty.txt", "")}, 2, "is empty");
  expect_run({"--draft", "suffix", "--draft-corpus", folder_.file("nothing.txt")}, 2,
             "corpus '" + folder_.file("nothing.txt") + "' cannot be read");
  expect_run({"--draft", "suffix", "--draft-corpus", fixtures::text_of(folder_.path())}, 2, "cannot be read");
  expect_run({"--draft", "suffix", "--draft-corpus", write("bytes.txt", "fine\n\xFF\xFE")}, 2, "byte 5 is not UTF-8");
  expect_run({"--draft", "suffix", "--draft-corpus", folder_.file("empty.txt")}, 2, "no text in it");
}

TEST_F(BadInput, HeadsInASecondFile) {
  fixtures::TinyConfig with_head;
  with_head.prediction_layers = 1;
  const std::string both = folder_.file("both.gguf"), wider = folder_.file("wider.gguf");
  fixtures::write_tiny_model(with_head, both);
  with_head.ffn = 256;
  fixtures::write_tiny_model(with_head, wider);
  expect_run({"--mtp-file", folder_.file("nothing.gguf")}, 3, "nothing.gguf");
  expect_run({"--mtp-file", write("cut.gguf", bytes_of_model().substr(0, 1000))}, 3, "cut.gguf");
  expect_run({"--mtp-file", model()}, 2, "tiny.gguf: has no head for multi-token prediction");
  expect_run({"--mtp-file", wider}, 2, "another model: its 'llama.feed_forward_length' is 256, the model's is 128");
  expect({"run", "-m", both, "-p", "Hello", "-n", "4", "--mtp-file", both}, 2, "has a head for multi-token prediction already");
  expect({"inspect", both, "--mtp-file", both}, 2, "has a head for multi-token prediction already");
  expect({"serve", "-m", model(), "-m", both, "--mtp-file", both}, 2, "give one -m FILE");
  expect({"bench", "--synthetic", "llama-2-7b:q4_0", "--mtp-file", both}, 2, "a synthetic model takes no head of a file");
}

TEST_F(BadInput, SecondModelsAndWindows) {
  expect_run({"--draft", "model"}, 2, "model:FILE.gguf");
  expect_run({"--draft", "model:" + folder_.file("nothing.gguf")}, 3, "drafter model: ");
  expect_run({"--draft", "model:" + write("short.gguf", bytes_of_model().substr(0, 1000))}, 3, "drafter model: ");
  fixtures::TinyConfig larger;
  larger.vocab = fixtures::tiny_vocabulary_size() + 32;
  fixtures::write_tiny_model(larger, folder_.file("larger.gguf"));
  expect_run({"--draft", "model:" + folder_.file("larger.gguf")}, 2, "has another vocabulary");
  expect_run({"--draft", "auto:model:" + model()}, 2, "is not measured");
  expect_run({"--draft", "window:4"}, 2, "'4' is no window");
  expect_run({"--draft", "window:4,0"}, 2, "'4,0' is no window");
}

TEST_F(BadInput, DraftersThatMayBeLeftOut) {
  const std::vector<std::string> arguments = {"run", "-m", model(), "-p", "Hello", "-n", "12"};
  const auto text = [&](const std::vector<std::string>& more, const std::string& warning) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), more.begin(), more.end());
    const Result result = run(all);
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_NE(result.error.find(warning), std::string::npos) << result.error;
    return result.out;
  };
  const std::string plain = text({"--draft", "none"}, "");
  EXPECT_EQ(text({"--draft", "suffix", "--draft-corpus", folder_.file("nothing.txt"), "--draft-optional"}, "cannot be read"), plain);
  EXPECT_EQ(text({"--draft", "copy:" + folder_.file("nothing.txt") + "+lookup", "--draft-optional"}, "left out"), plain);
  EXPECT_EQ(text({"--draft", "suffix:k=99", "--draft-optional"}, "1 to 31"), plain);
  EXPECT_EQ(text({"--draft", "model:" + folder_.file("nothing.gguf"), "--draft-optional"}, "left out: drafter model: "), plain);
  EXPECT_EQ(text({"--draft", "lookup", "--draft-corpus", write("corpus.txt", "Hello and more")}, "was not used"), plain);
  EXPECT_EQ(text({"--draft", "suffix", "--draft-corpus", folder_.file("corpus.txt"), "--stats"}, "made in"), plain);
}

TEST_F(BadInput, Prompts) {
  expect({"run", "-m", model()}, 2, "no prompt");
  expect({"run", "-m", model(), "-p", ""}, 2, "empty");
  expect({"run", "-m", model(), "-p", "a", "-f", "b"}, 2, "two prompts");
  expect({"run", "-m", model(), "a", "-f", "b"}, 2, "two prompts");
  expect({"run", "-m", model(), "a", "-p", "b"}, 2, "there is more than one prompt");
  expect({"run", "-m", model(), "a", "b"}, 2, "put the words of one into quotes");
  expect({"run", "-m", model(), "-f", folder_.file("nothing.txt")}, 2, "nothing.txt");
  expect({"run", "-m", model(), "-f", fixtures::text_of(folder_.path())}, 2, "cannot be read");
  expect(Command{{"run", "-m", model(), "-f", "-"}, "\xFF\xFE"}, 2, "UTF-8");
  expect(Command{{"run", "-m", model(), "-f", "-"}}, 2, "empty");
  const std::string prompts = write("prompts.jsonl", "\"a\"\n\n\"b\"\n"), whole = write("whole.txt", "a");
  expect({"run", "-m", model(), "--prompts", prompts, "--line", "2"}, 2, "has no prompt on line 2; its last one is on line 3");
  expect({"run", "-m", model(), "--prompts", whole, "--line", "1"}, 2, "is one prompt as a whole; leave --line out");
  expect({"run", "-m", model(), "--prompts", prompts, "-p", "a"}, 2, "two prompts, one from --prompt and one from --prompts");
  expect({"run", "-m", model(), "-p", "a", "--line", "1"}, 2, "--line");
  std::string longer;
  for (int i = 0; i < 100; ++i) longer += "word number " + std::to_string(i) + " ";
  expect({"run", "-m", model(), "-p", longer, "--ctx", "32"}, 2, "32");
  expect({"run", "-m", model(), "-p", longer, "--ctx", "32", "--json"}, 2, "context");
}

TEST_F(BadInput, TokenIds) {
  const auto refused = [&](const std::string& ids, const std::string& part) {
    expect({"run", "-m", model(), "--prompt-tokens", ids}, 2, part);
  };
  refused("", "there is no token id in --prompt-tokens");
  refused(" , ,", "there is no token id in --prompt-tokens");
  refused("1,-2", "'-2' in --prompt-tokens is no token id");
  refused("1,2-3", "'2-3' in --prompt-tokens is no token id");
  refused("1,99999999999", "'99999999999' in --prompt-tokens is no token id");
  refused("1,two", "'1,two' cannot be read");
  refused(folder_.file("nothing.txt"), "nothing.txt' cannot be read");
  refused(fixtures::text_of(folder_.path()), "cannot be read");
  refused(write("words.txt", "1, 2, three"), "'three' in '" + folder_.file("words.txt") + "' is no token id");
  refused(write("half.txt", "1, 2.5"), "'2.5' in ");
  refused(write("long.txt", "7 " + std::string(100000, 'x')), "(100000 bytes)");
  refused(write("blank.txt", "\n"), "there is no token id in '");
  const std::string most = std::to_string(fixtures::tiny_vocabulary_size() - 1), over = std::to_string(fixtures::tiny_vocabulary_size());
  refused("1," + over, "token 2 of the prompt is " + over + ", but the model's vocabulary has the ids 0 to " + most);
  refused("2147483647", "token 1 of the prompt is 2147483647");
  expect_run({"--prompt-tokens", "1"}, 2, "two prompts, one from --prompt and one from --prompt-tokens");
  expect({"run", "-m", model(), "-f", "x.txt", "--prompt-tokens", "1"}, 2, "two prompts, one from --file and one from --prompt-tokens");
  expect({"run", "-m", model(), "--chat", "--prompt-tokens", "1"}, 2, "--chat takes a message");
  expect_run({"--logits", "4"}, 2, "give --json with it");
  expect_run({"--logits", "4", "--json", "--chat"}, 2, "without --chat");
  expect_run({"--logits", "-4", "--json"}, 2, "-4");
  expect_run({"--logits", over + "0", "--json"}, 2, "--logits " + over + "0 are more than");
  std::string many;
  for (int i = 0; i < 40; ++i) many += "5,";
  expect({"run", "-m", model(), "--prompt-tokens", many, "--ctx", "32"}, 2, "context");
  expect({"run", "-m", model(), "--prompt-tokens", many, "--ctx", "32", "--logits", "4", "--json"}, 2, "context");
}

TEST_F(BadInput, Models) {
  const std::string bytes = bytes_of_model();
  ASSERT_GT(bytes.size(), 1000u);
  std::string other = bytes;
  for (std::size_t at = other.find("llama"); at != std::string::npos; at = other.find("llama", at)) other.replace(at, 5, "blama");
  const std::vector<std::pair<std::string, std::string>> models = {
      {folder_.file("missing.gguf"), "missing.gguf"},
      {write("empty.gguf", ""), "empty.gguf"},
      {write("text.gguf", "This is a text and no model at all."), "text.gguf"},
      {write("short.gguf", bytes.substr(0, bytes.size() / 2)), "short.gguf"},
      {write("header.gguf", bytes.substr(0, 100)), "header.gguf"},
      {fixtures::text_of(folder_.path()), fixtures::text_of(folder_.path())},
  };
  for (const auto& [path, part] : models) {
    expect({"run", "-m", path, "-p", "Hello"}, 3, part);
    expect({"inspect", path}, 3, part);
  }
  expect({"run", "-m", write("blama.gguf", other), "-p", "Hello"}, 3, "blama");
}

TEST_F(BadInput, ModelOfAnUnknownArchitectureCanBeInspected) {
  std::string other = bytes_of_model();
  for (std::size_t at = other.find("llama"); at != std::string::npos; at = other.find("llama", at)) other.replace(at, 5, "blama");
  const Result result = run({"inspect", write("blama.gguf", other)});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_NE(result.out.find("does not run it"), std::string::npos) << result.out;
}

TEST_F(BadInput, NoBundledModel) {
  const std::string copy = folder_.file(fixtures::text_of(fixtures::path_of(SKIPSTONE_PROGRAM).filename()));
  std::filesystem::copy_file(SKIPSTONE_PROGRAM, copy);
  Command alone{{"run", "-p", "Hello"}};
  alone.program = copy;
  expect(alone, 3, "no model is bundled");
}

TEST_F(BadInput, Devices) {
  expect_run({"--device", "no such device"}, 4, "no such device");
  expect_run({"--device", "77"}, 4, "77");
  expect({"doctor", "--device", "no such device"}, 4, "no such device");
}

TEST_F(BadInput, LostDevice) {
  for (const char* submission : {"1", "8", "12"}) {
    const Result result =
        run(Command{{"run", "-m", model(), "-p", "Hello", "-n", "64", "--json"}, {}, {{"SKIPSTONE_TEST_DEVICE_LOST", submission}}});
    EXPECT_EQ(result.code, 6) << submission << "\n" << result.error;
    EXPECT_EQ(result.out, "") << submission;
    EXPECT_NE(result.error.find("error: "), std::string::npos) << result.error;
  }
}

TEST_F(BadInput, MoreMemoryThanThereIs) {
  fixtures::TinyConfig config;  // for the longest context 128 MiB (f16) of keys a layer, which every device binds, and 6 GiB in all
  config.heads = config.kv_heads = 4;
  config.layers = 24;
  fixtures::write_tiny_model(config, folder_.file("wide.gguf"));
  expect({"run", "-m", folder_.file("wide.gguf"), "-p", "Hello", "--ctx", "1048576", "--memory", "4GiB"}, 5,
         "KV cache for a context of 1048576");
  expect_run({"--ctx", "2000000000"}, 2, "2000000000");
}

}  // namespace
}  // namespace skipstone::e2e

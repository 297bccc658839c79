// A model by path, from memory and by file descriptor: one text from all of them, and a sentence for what is no model.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "skipstone/skipstone.hpp"

namespace {

using skipstone::Engine;
using skipstone::Session;
using skipstone::fixtures::bytes_of;
using skipstone::fixtures::TemporaryDirectory;

/// Open for as long as this is there.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path, int flags = O_RDONLY) : number_(::open(path.c_str(), flags)) {}
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  bool open() const { return ::fcntl(number_, F_GETFD) != -1; }

 private:
  int number_;
};

skipstone_engine_params from_descriptor(int number) {
  skipstone_engine_params params = skipstone::engine_params();
  params.model_fd = number;
  return params;
}

/// How loading fails: its status and sentence. SKIPSTONE_OK where it does not.
skipstone::error failure(const skipstone_engine_params& params) {
  try {
    const Engine engine(params);
    return {SKIPSTONE_OK, ""};
  } catch (const skipstone::error& error) {
    return error;
  }
}

#define EXPECT_REFUSED(params, code, words)                                                  \
  do {                                                                                       \
    const skipstone::error refused = failure(params);                                        \
    EXPECT_EQ(refused.status(), code) << refused.what();                                     \
    EXPECT_NE(std::string(refused.what()).find(words), std::string::npos) << refused.what(); \
  } while (false)

class ModelSource : public testing::Test {
 protected:
  ModelSource() {
    skipstone::fixtures::write_tiny_model({.layers = 2, .dim = 32, .heads = 2, .kv_heads = 1, .ffn = 32, .context = 64}, file_);
    bytes_ = bytes_of(file_);
  }

  skipstone_engine_params from_path() const {
    skipstone_engine_params params = skipstone::engine_params();
    params.model_path = file_.c_str();
    return params;
  }

  static std::vector<skipstone_token> text(const Engine& engine) {
    Session session(engine);
    session.generate(engine.tokenize("the quick brown fox"), 16);
    return session.tokens();
  }

  TemporaryDirectory folder_;
  std::string file_ = folder_.file("tiny.gguf"), bytes_;
};

TEST_F(ModelSource, TheTextIsTheSame) {
  const Engine by_path(from_path());
  const std::vector<skipstone_token> expected = text(by_path);
  ASSERT_EQ(expected.size(), 16u);

  std::string copy = bytes_;
  const Engine from_memory(skipstone::engine_params(copy.data(), copy.size()));
  copy.assign(copy.size(), '\xff');  // the program's again
  EXPECT_EQ(text(from_memory), expected);
  EXPECT_STREQ(from_memory.info().fingerprint, by_path.info().fingerprint);

  const Descriptor descriptor(file_);
  ::lseek(descriptor.number(), 100, SEEK_SET);
  const Engine opened(from_descriptor(descriptor.number()));
  EXPECT_TRUE(descriptor.open());
  EXPECT_EQ(::lseek(descriptor.number(), 0, SEEK_CUR), 100);
  EXPECT_EQ(text(opened), expected);
  EXPECT_STREQ(opened.info().fingerprint, by_path.info().fingerprint);
}

TEST_F(ModelSource, AModelMayLieInsideALargerFile) {
  const std::string archive = folder_.file("archive");
  std::ofstream(archive, std::ios::binary) << std::string(1000, 'x') << bytes_ << std::string(5000, 'y');
  const Descriptor descriptor(archive);
  skipstone_engine_params params = from_descriptor(descriptor.number());
  params.model_offset = 1000;
  params.model_bytes = bytes_.size();
  EXPECT_EQ(text(Engine(params)), text(Engine(from_path())));
  params.model_bytes = bytes_.size() - 1;
  EXPECT_REFUSED(params, SKIPSTONE_BAD_FILE, "incomplete");
  params.model_bytes = bytes_.size() + 5001;
  EXPECT_REFUSED(params, SKIPSTONE_INVALID_ARGUMENT, "are asked for, but its file has");
  params.model_bytes = 1;
  params.model_offset = UINT64_MAX;
  EXPECT_REFUSED(params, SKIPSTONE_INVALID_ARGUMENT, "are asked for, but its file has");
}

TEST_F(ModelSource, MemoryThatIsNoModelIsASentence) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{4}, std::size_t{100}, bytes_.size() / 2, bytes_.size() - 1}) {
    const std::vector<char> cut(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_REFUSED(skipstone::engine_params(cut.data(), cut.size()), SKIPSTONE_BAD_FILE, "the model in memory: ");
  }
  EXPECT_REFUSED(skipstone::engine_params(bytes_.data(), 0), SKIPSTONE_INVALID_ARGUMENT, "model_bytes is 0");
}

TEST_F(ModelSource, DescriptorsThatAreNoModelAreASentence) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_REFUSED(from_descriptor(ends[0]), SKIPSTONE_BAD_FILE, "not a regular file");
  ::close(ends[0]);
  EXPECT_REFUSED(from_descriptor(ends[0]), SKIPSTONE_INVALID_ARGUMENT, "is not open");
  ::close(ends[1]);
  EXPECT_REFUSED(from_descriptor(Descriptor(folder_.path().string()).number()), SKIPSTONE_BAD_FILE, "directory");
  EXPECT_REFUSED(from_descriptor(Descriptor(file_, O_WRONLY).number()), SKIPSTONE_INVALID_ARGUMENT, "for reading");
  const std::string empty = folder_.file("empty");
  std::ofstream{empty};
  EXPECT_REFUSED(from_descriptor(Descriptor(empty).number()), SKIPSTONE_BAD_FILE, "is empty");
}

TEST_F(ModelSource, OneModelIsNamed) {
  EXPECT_REFUSED(skipstone::engine_params(), SKIPSTONE_INVALID_ARGUMENT, "set model_path, model_data, model_fd or synthetic");
  skipstone_engine_params params = skipstone::engine_params(bytes_.data(), bytes_.size());
  params.model_path = file_.c_str();
  EXPECT_REFUSED(params, SKIPSTONE_INVALID_ARGUMENT, "model_path and model_data are set");
  params.model_path = nullptr;
  params.model_fd = 0;
  EXPECT_REFUSED(params, SKIPSTONE_INVALID_ARGUMENT, "model_data and model_fd are set");
  params = from_path();
  params.synthetic = "llama-2-7b:q4_0";
  EXPECT_REFUSED(params, SKIPSTONE_INVALID_ARGUMENT, "model_path and synthetic are set");
  params = from_path();
  params.model_bytes = 5;
  EXPECT_REFUSED(params, SKIPSTONE_INVALID_ARGUMENT, "neither model_data nor model_fd");
  params = skipstone::engine_params(bytes_.data(), bytes_.size());
  params.model_offset = 5;
  EXPECT_REFUSED(params, SKIPSTONE_INVALID_ARGUMENT, "model_fd is not");
}

TEST_F(ModelSource, PartsAreLoadedByPathAlone) {
  const std::string part = folder_.file("part-00001-of-00002.gguf");
  skipstone::gguf::Writer writer;
  writer.set("general.architecture", std::string("llama"));
  writer.set("split.no", std::uint16_t{0});
  writer.set("split.count", std::uint16_t{2});
  writer.write(part);
  const std::string bytes = bytes_of(part);
  EXPECT_REFUSED(skipstone::engine_params(bytes.data(), bytes.size()), SKIPSTONE_UNSUPPORTED, "load it by its path");
  EXPECT_REFUSED(from_descriptor(Descriptor(part).number()), SKIPSTONE_UNSUPPORTED, "load it by its path");
}

TEST_F(ModelSource, SpecialTokensAreTheFilesOwn) {
  const Engine engine(from_path());
  EXPECT_EQ(engine.special_token(SKIPSTONE_TOKEN_UNKNOWN), 0);
  EXPECT_EQ(engine.special_token(SKIPSTONE_TOKEN_BOS), 1);
  EXPECT_EQ(engine.special_token(SKIPSTONE_TOKEN_EOS), 2);
  for (const auto kind : {SKIPSTONE_TOKEN_EOT, SKIPSTONE_TOKEN_EOM, SKIPSTONE_TOKEN_PADDING, SKIPSTONE_TOKEN_FILL_PREFIX}) {
    EXPECT_EQ(engine.special_token(kind), -1) << kind;
  }
  EXPECT_TRUE(engine.ends_generation(2));
  for (const skipstone_token token : {-1, 0, 1, 3, INT32_MAX, INT32_MIN}) EXPECT_FALSE(engine.ends_generation(token)) << token;
  EXPECT_EQ(skipstone_engine_special_token(engine.get(), 1000), -1);
  EXPECT_EQ(skipstone_engine_special_token(nullptr, SKIPSTONE_TOKEN_BOS), -1);
  EXPECT_EQ(skipstone_engine_ends_generation(nullptr, 2), 0);
}

}  // namespace

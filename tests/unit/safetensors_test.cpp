// Reading safetensors: good ones give their bytes, and nothing bad gets in or breaks anything.
#include "convert/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "fixtures/failure.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_checkpoint.h"

namespace skipstone::convert {
namespace {

using fixtures::checkpoint_tensor;
using fixtures::CheckpointTensor;
using fixtures::failure_of;
using fixtures::write_text;
using nlohmann::json;

std::string file_bytes(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

class SafetensorsTest : public testing::Test {
 protected:
  std::string folder() const { return directory_.path().string(); }
  void write(const std::string& name, const std::string& bytes) const { write_text(directory_.file(name), bytes); }

  /// model.safetensors of these bytes is refused with `code` and a sentence that has `part` in it.
  void expect_refused(const std::string& bytes, const std::string& part, Code code = Code::bad_file) const {
    write("model.safetensors", bytes);
    expect_refused_folder(part, code);
  }
  void expect_refused_folder(const std::string& part, Code code = Code::bad_file) const {
    const auto failure = failure_of([&] { Safetensors::open(folder()); });
    EXPECT_EQ(failure.code, code) << part << ": " << failure.message;
    EXPECT_NE(failure.message.find(part), std::string::npos) << "wanted: " << part << "\ngot: " << failure.message;
  }
  /// A header with one F32 tensor "a" of 4 numbers, changed by `change`, before 16 bytes of data.
  void expect_entry_refused(const std::function<void(json&)>& change, const std::string& part) const {
    json header = {{"a", {{"dtype", "F32"}, {"shape", {2, 2}}, {"data_offsets", {0, 16}}}}};
    change(header);
    expect_refused(file_bytes(header.dump(), std::string(16, 'x')), part);
  }

  fixtures::TemporaryDirectory directory_;
};

TEST_F(SafetensorsTest, GivesNamesTypesShapesAndBytes) {
  const std::vector<CheckpointTensor> tensors = {checkpoint_tensor("b", "F32", {3, 5}, 1), checkpoint_tensor("a", "BF16", {7}, 2),
                                                 checkpoint_tensor("c", "F16", {2, 1, 4}, 3)};
  write("model.safetensors", fixtures::safetensors_bytes(tensors));
  const Safetensors opened = Safetensors::open(folder());
  ASSERT_EQ(opened.tensors().size(), 3u);
  for (const CheckpointTensor& wanted : tensors) {
    const SourceTensor* found = opened.find(wanted.name);
    ASSERT_NE(found, nullptr) << wanted.name;
    EXPECT_EQ(found->dtype, wanted.dtype);
    EXPECT_EQ(found->shape, wanted.shape);
    const std::vector<std::byte> bytes = found->data.all();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), wanted.bytes);
  }
  EXPECT_EQ(opened.find("__metadata__"), nullptr);
  EXPECT_EQ(opened.find("d"), nullptr);
  EXPECT_EQ(weight_type(*opened.find("a")), gguf::Type::bf16);
  EXPECT_EQ(weight_type(*opened.find("b")), gguf::Type::f32);
  EXPECT_EQ(weight_type(*opened.find("c")), gguf::Type::f16);
}

TEST_F(SafetensorsTest, OtherNumbersAreRefusedWhereTheyAreUsedOnly) {
  write("model.safetensors", file_bytes(R"({"i":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},"f8":{"dtype":"F8_E4M3","shape":[3],)"
                                        R"("data_offsets":[16,19]},"new":{"dtype":"F6","shape":[4],"data_offsets":[19,22]}})",
                                        std::string(22, 'x')));
  const Safetensors opened = Safetensors::open(folder());
  for (const auto& [name, dtype] : {std::pair{"i", "I64"}, {"f8", "F8_E4M3"}, {"new", "F6"}}) {
    const auto failure = failure_of([&] { weight_type(*opened.find(name)); });
    EXPECT_EQ(failure.code, Code::unsupported);
    EXPECT_EQ(failure.message,
              std::string("tensor '") + name + "' holds numbers of type " + dtype + "; F32, F16 and BF16 can be converted");
  }
}

TEST_F(SafetensorsTest, TensorsWithoutNumbersAreFine) {
  write("model.safetensors",
        file_bytes(R"({"none":{"dtype":"F32","shape":[0,4],"data_offsets":[4,4]},"one":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
                   std::string(4, 'x')));
  const Safetensors opened = Safetensors::open(folder());
  EXPECT_EQ(opened.find("none")->data.size(), 0u);
  EXPECT_EQ(opened.find("one")->data.size(), 4u);
}

TEST_F(SafetensorsTest, FoldersWithoutWeights) {
  expect_refused_folder("has neither model.safetensors nor model.safetensors.index.json", Code::not_found);
  write("pytorch_model.bin", "x");
  expect_refused_folder("PyTorch's pickle format", Code::unsupported);
}

TEST_F(SafetensorsTest, FilesThatAreNone) {
  expect_refused("", "is empty");
  expect_refused("short", "no safetensors file, or cut short");
  expect_refused("This is a text and no safetensors file at all.", "no safetensors file, or cut short");
  expect_refused("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull");
  expect_refused(std::string(8, '\xff') + "{}", "header of 18446744073709551615");
  std::string longer = file_bytes("{}", "");
  longer[0] = 3;  // one byte more than there is
  expect_refused(longer, "cut short");
  expect_refused(file_bytes("", ""), "not valid JSON");
  expect_refused(file_bytes("{\"a\":", ""), "not valid JSON");
  expect_refused(file_bytes("{\"a\xff\":1}", ""), "not valid JSON");
  expect_refused(file_bytes("[1, 2]", ""), "array where an object was expected");
  expect_refused(file_bytes("null", ""), "null where an object was expected");
  expect_refused(file_bytes("{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}", ""), "nests deeper");
  expect_refused(file_bytes("{\"a\":1e999}", ""), "number out of range");
  expect_refused(file_bytes("{}", "rest"), "4 bytes at its end belong to no tensor");
}

TEST_F(SafetensorsTest, EntriesThatCannotBe) {
  expect_entry_refused([](json& h) { h["a"] = 7; }, "described by a JSON number");
  expect_entry_refused([](json& h) { h["a"].erase("dtype"); }, "no 'dtype'");
  expect_entry_refused([](json& h) { h["a"]["dtype"] = 4; }, "no 'dtype'");
  expect_entry_refused([](json& h) { h["a"].erase("shape"); }, "no list 'shape'");
  expect_entry_refused([](json& h) { h["a"]["shape"] = "2x2"; }, "no list 'shape'");
  expect_entry_refused([](json& h) { h["a"]["shape"] = {-2, -2}; }, "has -2 in 'shape'");
  expect_entry_refused([](json& h) { h["a"]["shape"] = {2.5}; }, "has 2.5 in 'shape'");
  expect_entry_refused([](json& h) { h["a"]["shape"] = std::vector<int>(9, 1); }, "at most 8 numbers");
  expect_entry_refused(
      [](json& h) {
        h["a"]["shape"] = {2, 3};
      },
      "takes 24 bytes by its shape 2 x 3 and type F32, but its offsets span 16");
  expect_entry_refused([](json& h) { h["a"]["shape"] = {std::uint64_t{1} << 62, 8}; }, "impossible shape");
  expect_entry_refused([](json& h) { h["a"]["shape"] = {UINT64_MAX, 2}; }, "where a size was expected");
  expect_entry_refused([](json& h) { h["a"]["dtype"] = "F64"; }, "takes 32 bytes");
  expect_entry_refused([](json& h) { h["a"].erase("data_offsets"); }, "no list 'data_offsets'");
  expect_entry_refused([](json& h) { h["a"]["data_offsets"] = {0}; }, "no two rising");
  expect_entry_refused([](json& h) { h["a"]["data_offsets"] = {16, 0}; }, "no two rising");
  expect_entry_refused([](json& h) { h["a"]["data_offsets"] = {8, 24}; }, "ends at byte 24 of the data, of which there are only 16");
  expect_entry_refused([](json& h) { h["a"]["data_offsets"] = {0, std::uint64_t{1} << 63}; }, "where a size was expected");
  expect_entry_refused([](json& h) { h["b"] = h["a"]; }, "starts at byte 0 of the data, but the one before it ends at byte 16");
  expect_entry_refused(
      [](json& h) {
        h["a"]["shape"] = {3};
        h["a"]["data_offsets"] = {4, 16};
      },
      "starts at byte 4 of the data, but the one before it ends at byte 0");
}

TEST_F(SafetensorsTest, NamesThatStandTwice) {
  const std::string entry = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  expect_refused(file_bytes("{\"a\":" + entry + ",\"a\":" + entry + "}", "data"), "the key \"a\" appears twice");
}

TEST_F(SafetensorsTest, ControlCharactersOfAFileDoNotReachTheTerminal) {
  expect_entry_refused([](json& h) { h["\x1b[2J"] = 7; }, "\\u{1b}[2J");
}

class IndexTest : public SafetensorsTest {
 protected:
  void write_index(const json& map) const { write("model.safetensors.index.json", json{{"weight_map", map}}.dump()); }
  void write_part(const std::string& file, const std::vector<std::string>& names) const {
    std::vector<CheckpointTensor> tensors;
    for (const std::string& name : names) tensors.push_back(checkpoint_tensor(name, "F32", {2}, 1));
    write(file, fixtures::safetensors_bytes(tensors));
  }
};

TEST_F(IndexTest, OpensEveryFileOnce) {
  write_part("one", {"a", "b"});
  write_part("two", {"c"});
  write_index({{"a", "one"}, {"b", "one"}, {"c", "two"}});
  const Safetensors opened = Safetensors::open(folder());
  EXPECT_EQ(opened.tensors().size(), 3u);
  EXPECT_EQ(opened.files().size(), 2u);
  EXPECT_NE(opened.find("c"), nullptr);
}

TEST_F(IndexTest, WrongOnes) {
  write("model.safetensors.index.json", "{}");
  expect_refused_folder("no 'weight_map'");
  write("model.safetensors.index.json", "not JSON");
  expect_refused_folder("not valid JSON");
  write_index(json::object());
  expect_refused_folder("no 'weight_map'");
  write_index({{"a", "../../etc/passwd"}});
  expect_refused_folder("no name of a file in the folder");
  write_index({{"a", "/etc/passwd"}});
  expect_refused_folder("no name of a file in the folder");
  write_index({{"a", 7}});
  expect_refused_folder("no name of a file in the folder");
  write_index({{"a", ""}});
  expect_refused_folder("no name of a file in the folder");
  write_index({{"a", ".."}});
  expect_refused_folder("is a directory");
  write_index({{"a", "one"}});
  expect_refused_folder("is missing, though the checkpoint's index names it", Code::not_found);
  write_part("one", {"b"});
  expect_refused_folder("does not hold tensor 'a'");
  write_part("two", {"a"});
  write_index({{"a", "one"}, {"b", "two"}});  // each in the other file
  expect_refused_folder("does not hold tensor 'a'");
  write_part("two", {"b"});
  write_index({{"b", "two"}, {"c", "one"}});
  write_part("one", {"b", "c"});
  expect_refused_folder("is also in another file");
  write("model.safetensors.index.json", R"({"weight_map":{"a":"one","a":"two"}})");
  expect_refused_folder("appears twice");
}

// Every byte of a header changed in turn, and every length: opens or is refused, and what opened can be read to its last byte.
TEST_F(SafetensorsTest, SpoiltFilesOpenOrAreRefused) {
  const std::vector<CheckpointTensor> tensors = {checkpoint_tensor("a", "F16", {2, 3}, 1), checkpoint_tensor("b", "F32", {4}, 2)};
  const std::string good = fixtures::safetensors_bytes(tensors);
  std::size_t refused = 0, sum = 0;
  const auto attempt = [&](const std::string& bytes) {
    write("model.safetensors", bytes);
    try {
      for (const Safetensors opened = Safetensors::open(folder()); const SourceTensor& tensor : opened.tensors()) {
        for (const std::byte each : tensor.data.all()) sum += std::to_integer<std::size_t>(each);
      }
    } catch (const Error& error) {
      ++refused;
      EXPECT_TRUE(error.code() == Code::bad_file) << error.what();
    }
  };
  for (std::size_t length = 0; length < good.size(); ++length) attempt(good.substr(0, length));
  EXPECT_EQ(refused, good.size());  // no shorter file is whole
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char replacement : {'\0', '9', '"'}) {
      std::string spoilt = good;
      spoilt[at] = replacement;
      attempt(spoilt);
    }
  }
  EXPECT_GT(refused, good.size());
  EXPECT_GT(sum, 0u);
}

}  // namespace
}  // namespace skipstone::convert

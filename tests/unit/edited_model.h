// A tiny model with something changed: what tests of the loader and of the oracle open.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/failure.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "model/config.h"

namespace skipstone::tests {

class EditedModel {
 public:
  explicit EditedModel(const fixtures::TinyConfig& config = {}) {
    const std::string path = unique_path();
    fixtures::write_tiny_model(config, path);
    const gguf::File file = gguf::File::open(path);
    for (const gguf::Pair& pair : file.metadata()) metadata_.push_back(pair);
    for (const gguf::Tensor& tensor : file.tensors()) {
      tensors_.push_back({tensor.name, tensor.type, {tensor.shape.begin(), tensor.shape.begin() + tensor.dimensions}, {}});
      tensors_.back().bytes = tensor.data.all();
    }
    std::filesystem::remove(path);
  }

  EditedModel& set(const std::string& key, gguf::Value value) {
    remove(key);
    metadata_.push_back({key, std::move(value)});
    return *this;
  }
  EditedModel& set_array(const std::string& key, std::vector<std::int32_t> items) {
    auto array = std::make_shared<gguf::Array>();
    array->items = std::move(items);
    return set(key, std::shared_ptr<const gguf::Array>(std::move(array)));
  }
  EditedModel& remove(const std::string& key) {
    std::erase_if(metadata_, [&](const gguf::Pair& pair) { return pair.key == key; });
    return *this;
  }
  EditedModel& remove_tensor(const std::string& name) {
    std::erase_if(tensors_, [&](const Item& item) { return item.name == name; });
    return *this;
  }
  /// Of a model with at most ten.
  EditedModel& keep_layers(std::uint32_t layers) {
    const auto is_left_out = [&](const Item& item) {
      return item.name.starts_with("blk.") && static_cast<std::uint32_t>(item.name[4] - '0') >= layers;
    };
    std::erase_if(tensors_, is_left_out);
    return set("llama.block_count", layers);
  }
  EditedModel& rename_tensor(const std::string& from, const std::string& to) {
    for (Item& item : tensors_) {
      if (item.name == from) item.name = to;
    }
    return *this;
  }
  /// Puts a tensor of these floats (zeros where there are none) in the place of one of that name, if there is one.
  EditedModel& tensor(const std::string& name, std::vector<std::uint64_t> shape, std::vector<float> values = {},
                      gguf::Type type = gguf::Type::f32) {
    remove_tensor(name);
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : shape) elements *= extent;
    values.resize(elements);
    Item item{name, type, std::move(shape), {}};
    const gguf::Traits& traits = gguf::traits(type);
    item.bytes.resize(elements / traits.block * traits.bytes);
    if (traits.writable()) gguf::quantize(type, values, item.bytes);
    tensors_.push_back(std::move(item));
    return *this;
  }

  void write(const std::string& path) const {
    gguf::Writer writer;
    for (const gguf::Pair& pair : metadata_) writer.set(pair.key, pair.value);
    for (const Item& item : tensors_) writer.add_tensor(item.name, item.type, item.shape, std::span<const std::byte>(item.bytes));
    writer.write(path);
  }

  gguf::File open() const {
    const std::string path = unique_path();
    write(path);
    gguf::File file = gguf::File::open(path);
    std::filesystem::remove(path);  // it stays open
    return file;
  }

 private:
  struct Item {
    std::string name;
    gguf::Type type;
    std::vector<std::uint64_t> shape;
    std::vector<std::byte> bytes;
  };

  static std::string unique_path() {
    static const fixtures::TemporaryDirectory folder;  // until the end: some systems keep the name of an open file
    static int count = 0;
    return folder.file("tiny-" + std::to_string(count++) + ".gguf");
  }

  std::vector<gguf::Pair> metadata_;
  std::vector<Item> tensors_;
};

/// That the model's shape is refused, with a sentence that has `says` in it.
inline void expect_refused(const EditedModel& model, Code code, const std::string& says) {
  const gguf::File file = model.open();
  const fixtures::Failure failure = fixtures::failure_of([&] { model::Config::from(file); });
  EXPECT_EQ(failure.code, code) << failure.message;
  EXPECT_NE(failure.message.find(says), std::string::npos) << failure.message;
}

inline EditedModel edited(const std::string& family) { return EditedModel(fixtures::tiny_family(family)); }

}  // namespace skipstone::tests

// write_tiny_models FOLDER NAME...: tiny models with different weights, FOLDER/NAME.gguf. Most of the memory that one takes is its KV cache
// of 64 MiB, so that a limit of memory is one of a number of models.
#include <string>

#include "fixtures/tiny_model.h"

int main(int count, char** arguments) {
  if (count < 3) return 2;
  for (int i = 2; i < count; ++i) {
    skipstone::fixtures::TinyConfig config;
    config.seed = static_cast<std::uint64_t>(i);
    config.context = 1 << 17;
    skipstone::fixtures::write_tiny_model(config, std::string(arguments[1]) + "/" + arguments[i] + ".gguf");
  }
  return 0;
}

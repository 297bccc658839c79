// The checkpoints from which GGUF files of models with recurrent layers were made: names, shapes and orders of transformers.
#pragma once

#include <vector>

#include "fixtures/tiny_checkpoint.h"
#include "gguf/gguf.h"

namespace skipstone::convert {

/// Of a file of lfm2, qwen35, granitehybrid or nemotron_h.
std::vector<fixtures::CheckpointTensor> hybrid_checkpoint(const gguf::File& file);

}  // namespace skipstone::convert

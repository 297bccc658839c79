// What tests of reports report.
#pragma once

#include "bench/speed.h"

namespace cli::bench {

/// A model of which a token reads 1000 bytes, and 10 for each token in the cache, on a device that copies 1e6 bytes a second.
inline Speed made_up() {
  Speed speed;
  speed.where.device = "it's a \"device\", with a comma";
  speed.where.model = "model|name";
  speed.where.date = "2026-01-02T03:04:05Z";
  speed.where.model_path = "caf\xE9.gguf";
  speed.model_type = "Q4_0";
  speed.parameters = 7'000'000'000;
  speed.bytes_per_token = 1000;
  speed.kv_bytes_per_token = 10;
  speed.copy_bandwidth = 1e6;
  speed.results = {{{.prompt = 100}, {2.0, 1.0, 4.0}},
                   {{.generate = 9, .depth = 5}, {0.025, 0.025}},
                   {{.rows = 1, .depth = 5}, {0.004, 0.002, 0.003}},
                   {{.rows = 4, .depth = 5}, {0.006, 0.005, 0.009}},
                   {{.rows = 8}, {0.5}},
                   {{.prompt = 7}, {}}};
  return speed;
}

}  // namespace cli::bench

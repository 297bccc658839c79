// Plain decoding.
#pragma once

#include <memory>

#include "spec/drafter.h"
#include "spec/options.h"

namespace skipstone::spec {

std::unique_ptr<Drafter> make_none(Options& options);

}  // namespace skipstone::spec

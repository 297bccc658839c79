// The makers of all drafters, by the names of their specifications; each one's method and source are in its own file.
#pragma once

#include <memory>

#include "speculation/drafter.h"
#include "speculation/options.h"

namespace skipstone::speculation {

std::unique_ptr<Drafter> make_asd(Options& options);
/// auto, or auto:NAME,NAME,... for other members than the usual ones.
std::unique_ptr<Drafter> make_auto(Options& options);
std::unique_ptr<Drafter> make_copy(Options& options);
std::unique_ptr<Drafter> make_exit(Options& options);
std::unique_ptr<Drafter> make_jacobi(Options& options);
std::unique_ptr<Drafter> make_lookahead(Options& options);
std::unique_ptr<Drafter> make_lookup(Options& options);
std::unique_ptr<Drafter> make_model(Options& options);
std::unique_ptr<Drafter> make_ngram(Options& options);
std::unique_ptr<Drafter> make_none(Options& options);
std::unique_ptr<Drafter> make_recycle(Options& options);
std::unique_ptr<Drafter> make_sequential(Options& options);
std::unique_ptr<Drafter> make_skip(Options& options);
std::unique_ptr<Drafter> make_suffix(Options& options);
std::unique_ptr<Drafter> make_window(Options& options);

}  // namespace skipstone::speculation

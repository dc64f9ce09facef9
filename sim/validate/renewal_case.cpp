#include "sim/validate/renewal_case.hpp"

#include "sim/run/published_metrics.hpp"

namespace orrery::validate {

RenewalMtbf simulate_renewal(const RenewalCase& asked) {
  return {run::superposition_mtbf(static_cast<double>(asked.parts), asked.mean_life),
          "renewal theorem"};
}

}  // namespace orrery::validate

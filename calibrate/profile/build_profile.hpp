#pragma once

// Samples in, a calibration profile out: what `orrery calibrate` writes at its end, and what anyone
// can compute again from the journal.
//
//   samples -> clock of a step -> evidence (kernel_points.hpp)
//           -> lines and laws (line_fit.hpp) -> profile
//
// Figures that follow from several samples: kernel_points.hpp.
//
// Collectives become tables of one rig (collective_tables.hpp), out of place and of whatever
// element type, where the caller says which wires they ran on; samples of one rank are left out.
// Without any: `collectives: absent`. Everything is deterministic: the same journal gives the same
// bytes.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/profile/line_fit.hpp"
#include "calibrate/samples/sample.hpp"
#include "calibrate/samples/sample_journal.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/step/hardware/fingerprint.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::calibrate {

// The wires between the GPUs, which no driver tells.
struct CollectiveRig {
  std::string rig;
  std::int64_t nvlink_domain = 8;
  hardware::FabricKind fabric = hardware::FabricKind::infiniband;
  BytesPerSecond nic_rate = {};
  std::int64_t nics_per_node = 0;
};

struct ProfileRequest {
  std::string base;      // "": by the name of the device
  std::string raw_file;  // journal, as the profile names it
  std::vector<std::pair<std::string, std::string>> protocol;
  std::optional<CollectiveRig> rig;
  std::vector<std::string> warnings;  // of the measuring program
  // Every call of a training step, for the clock at which one runs (kernel_points.hpp); none: the
  // times of products stand at the clock of products alone.
  std::vector<kernels::KernelCase> step;
};

struct FitReport {
  hardware::CalibrationFit fit;
  std::array<double, 3> deviation = {};  // of lines: a in s, b in s/FLOP, c in s/byte
  double five_fold = 0.0;                // of lines: mean error with a fifth left out
  std::string worst = {};                // sample that the fit without it misses most
};

struct BuiltProfile {
  hardware::CalibrationProfile profile;
  std::vector<FitReport> reports;  // by profile.fits
  std::vector<SettlingCurve> settling = {};
  std::vector<std::string> warnings = {};  // what the samples lack
};

// Nothing after an error: no base for the device, nothing was measured.
[[nodiscard]] std::optional<BuiltProfile> build_profile(const Measurements& measurements,
                                                        const ProfileRequest& request,
                                                        const hardware::ProfileSearch& search,
                                                        Diagnostics& diagnostics);

// calibration-profile/1; reading it again gives the same profile.
[[nodiscard]] std::string profile_yaml(const BuiltProfile& built, const ProfileRequest& request);

// Both at once, from a journal to a text.
[[nodiscard]] std::optional<std::string> write_profile(const Measurements& measurements,
                                                       const ProfileRequest& request,
                                                       const hardware::ProfileSearch& search,
                                                       Diagnostics& diagnostics);

// The machine of a journal under the keys of a profile: the same facts, and one id for both, that
// of sim/step/hardware/fingerprint.hpp.

// What a run only sees (clocks under load, throttling) stays unknown.
[[nodiscard]] hardware::Fingerprint machine_fields(const Fingerprint& fingerprint);

// The id of every profile that is measured on this machine with these libraries.
[[nodiscard]] std::string machine_id(const Fingerprint& fingerprint);

}  // namespace orrery::calibrate

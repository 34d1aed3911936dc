//! Fitting logistic models, the same in every run.

/// Examples of a fixed number of features.
#[derive(Default)]
pub struct Examples {
    pub width: usize,
    pub x: Vec<f32>,
    pub y: Vec<f32>,
    pub weight: Vec<f32>,
    pub group: Vec<u32>,
}
impl Examples {
    pub fn add(&mut self, x: &[f32], y: bool, weight: f32, group: u32) {
        self.width = x.len();
        self.x.extend_from_slice(x);
        self.y.push(if y { 1.0 } else { 0.0 });
        self.weight.push(weight);
        self.group.push(group);
    }
    pub fn len(&self) -> usize {
        self.y.len()
    }
    /// Newton's method with a ridge.
    pub fn fit(&self, skip: Option<u32>, rounds: usize) -> Vec<f32> {
        let n = self.width;
        let mut w = vec![0f64; n];
        for _ in 0..rounds {
            let mut g = vec![0f64; n];
            let mut h = vec![0f64; n * n];
            let mut total = 0.0;
            for i in 0..self.len() {
                if skip == Some(self.group[i]) {
                    continue;
                }
                let x = &self.x[i * n..(i + 1) * n];
                let s: f64 = x.iter().zip(&w).map(|(a, b)| f64::from(*a) * b).sum();
                let p = 1.0 / (1.0 + (-s).exp());
                let c = f64::from(self.weight[i]);
                total += c;
                let d = c * (p - f64::from(self.y[i]));
                let v = c * (p * (1.0 - p)).max(1e-6);
                for a in 0..n {
                    let xa = f64::from(x[a]);
                    if xa == 0.0 {
                        continue;
                    }
                    g[a] += d * xa;
                    for b in 0..=a {
                        h[a * n + b] += v * xa * f64::from(x[b]);
                    }
                }
            }
            let ridge = 1e-4 * total;
            for a in 0..n {
                g[a] += ridge * w[a];
                h[a * n + a] += ridge;
                for b in 0..a {
                    h[b * n + a] = h[a * n + b];
                }
            }
            let step = solve(h, g, n);
            for a in 0..n {
                w[a] -= step[a].clamp(-4.0, 4.0);
            }
        }
        w.into_iter()
            .map(|v| (v * 1e4).round() as f32 / 1e4)
            .collect()
    }
    pub fn auc(&self, w: &[f32], only: Option<u32>) -> f64 {
        let n = self.width;
        let mut s: Vec<(f32, bool, f64)> = (0..self.len())
            .filter(|i| only.is_none_or(|g| self.group[*i] == g))
            .map(|i| {
                (
                    self.x[i * n..(i + 1) * n]
                        .iter()
                        .zip(w)
                        .map(|(a, b)| a * b)
                        .sum(),
                    self.y[i] > 0.5,
                    f64::from(self.weight[i]),
                )
            })
            .collect();
        s.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut below, mut sum, mut pos) = (0.0, 0.0, 0.0);
        for (_, y, c) in &s {
            if *y {
                sum += c * below;
                pos += c
            } else {
                below += c
            }
        }
        sum / (below * pos)
    }
}
fn solve(mut h: Vec<f64>, mut g: Vec<f64>, n: usize) -> Vec<f64> {
    for c in 0..n {
        let p = (c..n)
            .max_by(|a, b| h[a * n + c].abs().total_cmp(&h[b * n + c].abs()))
            .unwrap_or(c);
        for k in 0..n {
            h.swap(c * n + k, p * n + k);
        }
        g.swap(c, p);
        let d = h[c * n + c];
        if d.abs() < 1e-12 {
            continue;
        }
        for r in 0..n {
            if r != c {
                let f = h[r * n + c] / d;
                if f != 0.0 {
                    for k in c..n {
                        h[r * n + k] -= f * h[c * n + k];
                    }
                    g[r] -= f * g[c];
                }
            }
        }
    }
    (0..n)
        .map(|i| {
            if h[i * n + i].abs() < 1e-12 {
                0.0
            } else {
                g[i] / h[i * n + i]
            }
        })
        .collect()
}

//! The report of a study, on a screen and on a phone: no labels meet, nothing sticks out, and all can be read.

use std::path::Path;

use crate::browser::{Browser, Screen};
use crate::{call, folder};

/// A study whose figures are of every kind.
const STUDY: &str = "sm-scaling";
const FIGURES: usize = 5;

/// The screens, by name. A window without a frame is never narrower than the second.
const SCREENS: [(&str, Screen); 2] = [("wide", (1280, 3600)), ("narrow", (500, 3600))];

/// Looks at every text of the figures that are shown, where the browser has put it.
const LOOK: &str = "<script>addEventListener('load', () => {
    const wrong = [];
    let figures = 0;
    for (const svg of document.querySelectorAll('svg')) {
        const all = svg.getBoundingClientRect();
        if (all.width === 0) continue;
        figures += 1;
        const scale = all.width / svg.viewBox.baseVal.width;
        for (const text of svg.querySelectorAll('text'))
            if (parseFloat(text.getAttribute('font-size')) * scale < 11) wrong.push(`${text.textContent.trim()} is too small`);
        const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent.trim(), text.getBoundingClientRect()]);
        for (const [index, [name, box]] of texts.entries()) {
            if (box.left < all.left - 1 || box.right > all.right + 1 || box.top < all.top - 1 || box.bottom > all.bottom + 1)
                wrong.push(`${name} sticks out`);
            for (const [other, next] of texts.slice(index + 1))
                if (box.left < next.right - 1 && next.left < box.right - 1 && box.top < next.bottom - 1 && next.top < box.bottom - 1)
                    wrong.push(`${name} meets ${other}`);
        }
    }
    if (document.documentElement.scrollWidth > innerWidth) wrong.push('the page is wider than the screen');
    document.body.insertAdjacentText('beforeend', `${figures} figures: ${wrong.join(', ') || 'all well'}`);
});</script>";

/// Runs the study, makes its report, and looks at it.
pub(crate) fn check(counterpoint: &Path, browser: &Browser, pictures: &Path) -> Result<String, String> {
    let results = folder()?;
    let out = results.path().display().to_string();
    call(counterpoint, &["study", STUDY, "--out", &out, "--quiet"])?;
    call(counterpoint, &["report", &out])?;
    let page = results.path().join("report.html");
    let problem = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = std::fs::read_to_string(&page).map_err(problem)?;
    let watched = results.path().join("watched.html");
    std::fs::write(&watched, text.replace("</body>", &format!("{LOOK}</body>"))).map_err(problem)?;
    for (name, screen) in SCREENS {
        browser.picture(
            &format!("file://{}", page.display()),
            screen,
            &pictures.join(format!("report-{name}.png")),
        )?;
        let text = browser.text(&format!("file://{}", watched.display()), screen)?;
        let said = text.lines().find_map(|line| line.split_once(&format!("{FIGURES} figures: ")));
        match said {
            Some((_, "all well")) => {}
            Some((_, wrong)) => return Err(format!("the report on a {name} screen: {wrong}")),
            None => return Err(format!("the report on a {name} screen does not show {FIGURES} figures")),
        }
    }
    Ok(format!(
        "the report of {STUDY} shows {FIGURES} figures whose labels stand apart, on a screen and on a phone"
    ))
}

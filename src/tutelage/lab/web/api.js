// Questions to the server. An answer that is a refusal is thrown, with its sentence.

async function answered(response) {
  let answer = {};
  try {
    answer = await response.json();
  } catch {
    throw new Error("The lab's answer could not be read; is it still running?");
  }
  if (!response.ok) throw new Error(answer.error ?? `The lab refused (${response.status}).`);
  return answer;
}

async function sent(path, options) {
  try {
    return await fetch(path, options);
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Error("The lab does not answer; is `tutelage lab` still running?");
  }
}

export async function ask(path, question, signal) {
  const headers = {"content-type": "application/json"};
  return answered(await sent(path, {method: "POST", headers, body: JSON.stringify(question), signal}));
}

export async function get(path, parameters = {}, signal) {
  return answered(await sent(`${path}?${new URLSearchParams(parameters)}`, {signal}));
}
